// Machines on which an all-reduce takes  start + size / rate  to the picosecond, so that a whole step,
// and what each source of uncertainty makes of it, fits on paper.
//
// They are two processes of gloo whose ring has no latency per step. gloo's times are known to 0.6 to
// 1.7 times; nothing else of these machines is uncertain.
#pragma once

#include <limits>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "small_jobs.hpp"

namespace ddpsim::small {

/// Two GPUs whose copies take no time however little of their bandwidth DDP gets.
inline Cluster pair_of_gpus() {
  Cluster cluster = node(2);
  cluster.gpu.memory_bandwidth =
      Bandwidth::bytes_per_second(std::numeric_limits<double>::infinity());
  return cluster;
}

/// An all-reduce takes `start_us`, and `mib_us` more for every MiB.
inline CollectiveModel alpha_beta(double start_us, double mib_us) {
  const Bandwidth rate = Bandwidth::bytes_per_second(1'048'576e6 / mib_us);
  return GlooModel{
      .links = {.process = rate,
                .to_fill = 1,
                .host = 1e6 * rate,
                .cache = Bytes::max(),
                .step = {},
                .start = Duration::microseconds(start_us),
                .copy = Bandwidth::bytes_per_second(std::numeric_limits<double>::infinity()),
                .fresh = Bandwidth::bytes_per_second(std::numeric_limits<double>::infinity()),
                .threads = 1,
                .host_tensors = true}};
}

/// Gradients of 1 MiB, ready at these times; backward ends with the last.
inline Workload mib_layers(const std::vector<double>& at_us, double forward_us) {
  std::vector<Gradient> gradients;
  for (const double at : at_us) gradients.push_back({kMiB, at});
  return chain(gradients, forward_us, at_us.back());
}

/// A job of which a test may still change a part.
struct OpenJob {
  Workload workload;
  CollectiveModel model;
  Cluster cluster = pair_of_gpus();
  SimulationOptions options = bare();

  operator Job() const { return Job(workload, cluster, options, model); }
  Duration step() const { return simulate_times(*this).iteration; }
  TuneResult tune(const TuneOptions& tuning = {}) const { return ddpsim::tune(*this, tuning); }
  Recommendation advice(const TuneOptions& tuning = {}) const { return tune(tuning).recommended; }
  Confidence assess(const std::optional<Replay>& replay = std::nullopt) const {
    return ddpsim::assess(*this, simulate_times(*this), replay);
  }
};

/// Forward 100 us, backward 300, one all-reduce behind it of 200 + 4 * 100.
inline OpenJob step_of_1000() {
  return {.workload = chain({{4 * kMiB, 300}}, 100, 300), .model = alpha_beta(200, 100)};
}

/// Gradients in each bucket.
inline std::vector<std::size_t> members(const std::vector<Bucket>& buckets) {
  std::vector<std::size_t> counts;
  for (const Bucket& bucket : buckets) counts.push_back(bucket.parameters.size());
  return counts;
}

}  // namespace ddpsim::small

/// Failing checks of gains show both ends.
template <>
struct doctest::StringMaker<ddpsim::Gain> {
  static doctest::String convert(const ddpsim::Gain& gain) {
    const auto us = [](ddpsim::Duration time) { return std::to_string(time.microseconds()); };
    return (us(gain.value) + " us, " + us(gain.low) + " to " + us(gain.high)).c_str();
  }
};
namespace ddpsim {
inline bool operator==(const Gain& a, const Gain& b) {
  return a.value == b.value && a.low == b.low && a.high == b.high;
}
}  // namespace ddpsim
