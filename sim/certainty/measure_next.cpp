#include "measure_next.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "ddpsim/sim/certainty/step_spread.hpp"
#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "gloo_evidence.hpp"

namespace ddpsim {
namespace {

/// Share of the step by which a measurement must narrow an interval to be worth a run.
constexpr double kWorthMeasuring = 0.002;
/// In bytes: all_reduce_perf sums elements, so it needs at least a few bytes.
constexpr std::uint64_t kLeastSize = 8;
/// Sizes from the smallest to the largest; `ddpsim calibrate` needs at least four.
constexpr std::uint64_t kFewestSteps = 8;

/// A size as all_reduce_perf takes it: "1M".
std::string size_argument(std::uint64_t power_of_two) {
  for (const auto& [unit, name] :
       {std::pair{std::uint64_t{1} << 30, "G"}, std::pair{std::uint64_t{1} << 20, "M"},
        std::pair{std::uint64_t{1} << 10, "K"}})
    if (power_of_two >= unit) return fmt::format("{}{}", power_of_two / unit, name);
  return fmt::format("{}", power_of_two);
}

/// The logs behind the current calibration, as arguments. Calibrating takes all logs at once, so
/// they must be given again, except for those of other clusters.
std::string logs_again(const Cluster& cluster) {
  std::string logs;
  if (cluster.calibration)
    for (const CalibratedShape& log : cluster.calibration->shapes)
      if (!log.published && log.timed_by == TimedBy::all_reduce_perf)
        logs += fmt::format(" {}@{}x{}", log.source, log.nodes, log.gpus_per_node);
  return logs;
}

/// Measuring again what the calibration rests on would tell nothing new.
bool measured(const std::vector<Bytes>& sizes, const Cluster& cluster) {
  if (!cluster.calibration) return false;
  const Calibration own = logs_alone(*cluster.calibration, false);
  return std::all_of(sizes.begin(), sizes.end(), [&](Bytes size) {
    return is_measured_at(own, cluster.nodes, cluster.gpus_per_node, size);
  });
}

/// Uses our own program, because all_reduce_perf knows NCCL only. A small message gives the time of
/// the ring's steps, a large one the rate of a process.
NextMeasurement measure_gloo(ErrorSource source, const std::vector<Bytes>& sizes,
                             const Cluster& cluster) {
  std::set<std::uint64_t> powers{1024};
  for (const Bytes size : sizes)
    powers.insert(
        std::bit_ceil(std::max(std::uint64_t{1024}, static_cast<std::uint64_t>(size.count()))));
  // One size alone gives no rate.
  if (powers.size() == 1) powers.insert(std::uint64_t{64} << 10);
  std::vector<std::string> words;
  for (const std::uint64_t power : powers) words.push_back(size_argument(power) + "iB");
  const int ranks = cluster.ranks();
  const std::string job = fmt::format(
      "ddpsim-real WORKLOAD --backend cpu-gloo --all-reduce {} -o FOLDER", fmt::join(words, ","));
  return {.source = source,
          .command = cluster.hosts() == 1
                         ? fmt::format("{} --ranks {}", job, ranks)
                         : fmt::format("mpirun -np {} --map-by ppr:{}:node -x MASTER_ADDR=HOST0 {}",
                                       ranks, cluster.gpus_per_host(), job),
          .then = "ddpsim calibrate FOLDER/measurement.json --cluster CLUSTER -o CALIBRATED"};
}

/// If one rank was replayed, the other ranks may explain its residual. If all ranks were, the
/// profiler's cost may.
NextMeasurement measure_ranks(const Workload& workload) {
  const auto ranks = static_cast<std::size_t>(workload.recorded_with.world_size);
  if (ranks > 0 && workload.ranks.size() > 1 && workload.ranks.size() >= ranks)
    return {.source = ErrorSource::replay_residual,
            .command = "record a step with ddpsim_recorder.py in place of the profiler",
            .then = "ddpsim simulate STEP CLUSTER --measured-step TIME"};
  return {.source = ErrorSource::replay_residual,
          .command = "profile one step on every rank",
          .then = "ddpsim import RANK... -o WORKLOAD"};
}

/// Measures collectives alone, without a step around them. Absent if they were measured already.
std::optional<NextMeasurement> measured_by_itself(ErrorSource source,
                                                  const std::vector<Bytes>& sizes, const Job& job) {
  if (!std::holds_alternative<GlooModel>(job.model()))
    return measure_all_reduces(source, sizes, job.cluster());
  if (is_covered_by_gloo_logs(job)) return std::nullopt;
  return measure_gloo(source, sizes, job.cluster());
}

/// Absent if the source was measured already or cannot be measured.
std::optional<NextMeasurement> measurement_of(ErrorSource source, const Job& job) {
  const Cluster& cluster = job.cluster();
  const bool gloo = std::holds_alternative<GlooModel>(job.model());
  const auto next = [&](std::string command, std::string then) {
    return NextMeasurement{source, std::move(command), std::move(then)};
  };
  switch (source) {
    case ErrorSource::fixed_cost:
    case ErrorSource::bandwidth:
    case ErrorSource::collective_times: {
      if (gloo && cluster.ranks() <= 1) break;
      return measured_by_itself(source,
                                source == ErrorSource::fixed_cost
                                    ? std::vector<Bytes>{Bytes(1024), kSmallAllReduce}
                                    : all_reduce_sizes(job),
                                job);
    }
    case ErrorSource::gpu_spread:
    case ErrorSource::rank_slowdown:
    case ErrorSource::host_delays:
    case ErrorSource::schemes:
      break;
    case ErrorSource::leaf_placement:
      return next("ask which nodes share a leaf switch", "leaf:NODES in CLUSTER");
    case ErrorSource::recorded_waits:
      return next("profile one step on every rank", "ddpsim import RANK... -o WORKLOAD");
    case ErrorSource::step_spread: {
      const std::optional<StepSpread> spread = step_spread(job.workload());
      // The spread is known already, and it is this wide.
      if (spread && spread->percentiles) return std::nullopt;
      return next("record thirty steps of this job", "ddpsim import TRACE -o WORKLOAD");
    }
    case ErrorSource::compute_scale:
      return next(fmt::format("profile one step on one {} of this cluster", cluster.gpu.name),
                  "ddpsim import TRACE -o WORKLOAD");
    case ErrorSource::replay_residual:
      return measure_ranks(job.workload());
    case ErrorSource::launch_cost:
      return next("time a few steps of this job on one GPU", "--measured-step TIME");
    case ErrorSource::host_work:
      return next("time optimizer.step() of one rank of this job, while all of a node step",
                  "cpu_rate=GB/S in --scheme");
    case ErrorSource::interference:
    case ErrorSource::ddp_costs:
      return next("profile one step of this job under DDP, on rank 0 of this cluster",
                  "ddpsim import TRACE -o WORKLOAD");
    case ErrorSource::measurement_noise:
      return std::nullopt;
  }
  return next("time twenty steps of this job on this cluster, without a profiler",
              "ddpsim simulate WORKLOAD CLUSTER --measured-step TIME");
}

}  // namespace

std::optional<NextMeasurement> measure_all_reduces(ErrorSource source,
                                                   const std::vector<Bytes>& sizes,
                                                   const Cluster& cluster) {
  if (cluster.ranks() <= 1 || measured(sizes, cluster)) return std::nullopt;
  std::uint64_t least = std::uint64_t{1} << 62;
  std::uint64_t most = kLeastSize;
  for (const Bytes size : sizes) {
    const auto bytes = std::max(kLeastSize, static_cast<std::uint64_t>(size.count()));
    least = std::min(least, bytes);
    most = std::max(most, bytes);
  }
  least = std::bit_floor(std::min(least, most));
  most = std::bit_ceil(most);
  while (most / least < kFewestSteps) {
    if (least > kLeastSize) least /= 2;
    if (most / least < kFewestSteps) most *= 2;
  }
  const std::string range =
      fmt::format("-b {} -e {} -f 2", size_argument(least), size_argument(most));
  return NextMeasurement{
      .source = source,
      .command = cluster.hosts() == 1
                     ? fmt::format("all_reduce_perf {} -g {}", range, cluster.gpus_per_node)
                     : fmt::format("mpirun -np {} -N {} all_reduce_perf {} -g 1", cluster.ranks(),
                                   cluster.gpus_per_host(), range),
      .then = fmt::format("ddpsim calibrate LOG{} --cluster CLUSTER -o CALIBRATED",
                          logs_again(cluster))};
}

std::optional<NextMeasurement> measure_collectives(const Job& job,
                                                   const std::vector<Bytes>& sizes) {
  if (job.cluster().ranks() <= 1) return std::nullopt;
  return measured_by_itself(ErrorSource::collective_times, sizes, job);
}

std::optional<NextMeasurement> measure_next(const std::vector<Sensitivity>& sensitivities,
                                            Duration predicted, const Job& job) {
  const auto width = [](const std::vector<Sensitivity>& of) {
    const Spread spread = combine(of);
    return spread.high - spread.low;
  };
  const Duration all = width(sensitivities);
  Duration most = predicted.scaled(kWorthMeasuring);
  std::optional<NextMeasurement> best;
  for (std::size_t i = 0; i < sensitivities.size(); ++i) {
    std::vector<Sensitivity> others = sensitivities;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Duration narrower = all - width(others);
    if (narrower <= most) continue;
    auto measurement = measurement_of(sensitivities[i].source, job);
    if (!measurement) continue;
    most = narrower;
    best = std::move(measurement);
  }
  return best;
}

std::optional<NextMeasurement> measure_cause(const Replay& replay, const Workload& workload) {
  // Two measured steps that differ by less than twice the noise cannot be told apart.
  if (replay.missed_share() <= 2 * kMeasurementNoise) return std::nullopt;
  return measure_ranks(workload);
}

}  // namespace ddpsim
