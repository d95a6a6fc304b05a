// What `ddpsim-real` measured: steps of a real reducer over a sweep of configurations, with all
// that is needed to repeat it. `ddpsim.measurement/1`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Of several repetitions; linear between neighbours.
struct Quantiles {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};
/// As sim/quantile.hpp defines them; zeros where there are no values.
Quantiles quantiles_of(const std::vector<double>& values);

/// Microseconds from the start of forward on rank 0.
struct MeasuredBucket {
  Bytes bytes;
  std::vector<std::size_t> parameters;  ///< indices into the workload's parameters
  Quantiles ready_us;
  Quantiles launch_us;
  Quantiles start_us;
  Quantiles last_arrival_us;  ///< the last rank has started
  Quantiles end_us;
};

/// One configuration. Parts of the step as in a simulated result, microseconds, of rank 0.
struct MeasuredConfiguration {
  std::string name;
  std::optional<double> bucket_cap_mb;
  bool gradient_as_bucket_view = false;
  Quantiles iteration_us;
  Quantiles forward_us;
  Quantiles backward_us;
  Quantiles communication_us;  ///< union of [last arrival, end]
  Quantiles exposed_communication_us;
  Quantiles finalize_us;
  Quantiles optimizer_us;
  std::vector<double> iterations_us;  ///< each, in order
  std::vector<MeasuredBucket> buckets;
  std::string timeline;  ///< file beside this one, of the step nearest the median
};

struct MeasuredAllReduce {
  Bytes size;
  Dtype dtype = Dtype::float32;
  Quantiles time_us;
  /// Of a compression hook: cast to 16 bits and division in front of it, cast back behind it, each
  /// by itself.
  std::optional<Quantiles> compress_us;
  std::optional<Quantiles> decompress_us;
};

struct Measurement {
  std::vector<std::pair<std::string, std::string>>
      setup;  ///< key, text: all that decides the numbers
  int ranks = 1;
  std::vector<MeasuredConfiguration> configurations;
  std::vector<MeasuredAllReduce> all_reduces;
};

std::string measurement_json(const Measurement& measurement);
std::string measurement_csv(const Measurement& measurement);
/// The all-reduces as all_reduce_perf of nccl-tests prints them, for whatever reads its logs.
/// `hosts` of the ranks, in order; `device` is the GPU's name.
std::string measurement_log(const Measurement& measurement, const std::vector<std::string>& hosts,
                            const std::string& device);
/// A table for the terminal.
std::string measurement_text(const Measurement& measurement);

}  // namespace ddpsim
