// What `ddpsim-real` measured: steps of a real reducer over a sweep of configurations, with
// everything that is needed to repeat the measurement. `ddpsim.measurement/1`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Quantiles over several repetitions, interpolated linearly.
struct Quantiles {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};
/// Quantiles as sim/values/quantile.hpp defines them; zeros if there are no values.
Quantiles quantiles_of(const std::vector<double>& values);

/// Microseconds from the start of forward on rank 0.
struct MeasuredBucket {
  Bytes bytes;
  std::vector<std::size_t> parameters;  ///< indices into the workload's parameters
  Quantiles ready_us;
  Quantiles launch_us;
  Quantiles start_us;
  Quantiles last_arrival_us;  ///< when the last rank starts
  Quantiles end_us;
};

/// One configuration. The parts of the step are rank 0's, in microseconds, with the meaning they
/// have in a simulated result.
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
  std::vector<double> iterations_us;  ///< every iteration, in order
  std::vector<MeasuredBucket> buckets;
  /// File with the timeline of the step nearest to the median, in the same folder.
  std::string timeline;
};

struct MeasuredAllReduce {
  Bytes size;
  Dtype dtype = Dtype::float32;
  Quantiles time_us;
  /// Only with a compression hook: the cast to 16 bits and the division before the all-reduce, and
  /// the cast back after it. Both are timed alone.
  std::optional<Quantiles> compress_us;
  std::optional<Quantiles> decompress_us;
};

struct Measurement {
  /// Key and text of everything that influences the numbers.
  std::vector<std::pair<std::string, std::string>> setup;
  int ranks = 1;
  std::vector<MeasuredConfiguration> configurations;
  std::vector<MeasuredAllReduce> all_reduces;
};

std::string measurement_json(const Measurement& measurement);
std::string measurement_csv(const Measurement& measurement);
/// The all-reduces in the format of all_reduce_perf of nccl-tests, for tools that read its logs.
/// `hosts` has the host of each rank in order; `device` is the GPU's name.
std::string measurement_log(const Measurement& measurement, const std::vector<std::string>& hosts,
                            const std::string& device);
/// A table for the terminal.
std::string measurement_text(const Measurement& measurement);

}  // namespace ddpsim
