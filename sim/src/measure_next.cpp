#include "measure_next.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "ddpsim/sim/bucket_assignment.hpp"

namespace ddpsim {
namespace {

/// Narrowing an interval by less of the step is not worth a run.
constexpr double kWorthMeasuring = 0.002;

Duration width(const std::vector<Deviation>& deviations, const std::vector<Duration>& extra) {
  const Spread spread = combine(deviations, extra);
  return spread.high - spread.low;
}

/// "1M", as all_reduce_perf takes sizes.
std::string size_argument(std::int64_t power_of_two) {
  for (const auto& [unit, name] :
       {std::pair{std::int64_t{1} << 30, "G"}, std::pair{std::int64_t{1} << 20, "M"},
        std::pair{std::int64_t{1} << 10, "K"}})
    if (power_of_two >= unit) return fmt::format("{}{}", power_of_two / unit, name);
  return fmt::format("{}", power_of_two);
}

/// Over the sizes of the buckets, rounded outwards to powers of two.
std::string all_reduce_command(const std::vector<Bucket>& buckets, const Cluster& cluster) {
  std::uint64_t least = std::uint64_t{1} << 40;
  std::uint64_t most = 8;
  for (const Bucket& bucket : buckets) {
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(8, bucket.bytes.count()));
    least = std::min(least, bytes);
    most = std::max(most, bytes);
  }
  const std::string sizes =
      fmt::format("-b {} -e {} -f 2",
                  size_argument(static_cast<std::int64_t>(std::bit_floor(std::min(least, most)))),
                  size_argument(static_cast<std::int64_t>(std::bit_ceil(most))));
  if (cluster.nodes == 1)
    return fmt::format("all_reduce_perf {} -g {}", sizes, cluster.gpus_per_node);
  return fmt::format("mpirun -np {} -N {} all_reduce_perf {} -g 1", cluster.ranks(),
                     cluster.gpus_per_node, sizes);
}

NextMeasurement measurement_of(const std::string& source, const Workload& workload,
                               const Cluster& cluster, const SimulationOptions& options) {
  if (source == kCollectiveTimes)
    return {
        .source = source,
        .command = all_reduce_command(
            options.buckets ? *options.buckets : steady_buckets(workload, options.ddp), cluster),
        .then = "ddpsim calibrate LOG --cluster CLUSTER -o CALIBRATED"};
  if (source == kRankPace)
    return {.source = source,
            .command = "time twenty steps of this job on this cluster, without a profiler",
            .then = "--measured-step TIME"};
  if (source == kComputeScale)
    return {.source = source,
            .command = fmt::format("profile one step on a {}", cluster.gpu.name),
            .then = "ddpsim import TRACE -o WORKLOAD"};
  if (source == kReplayResidual)
    return {.source = source,
            .command = "profile one step on every rank",
            .then = "ddpsim import RANK... -o WORKLOAD"};
  return {.source = source,
          .command = "profile one step of this job under DDP, on rank 0 of this cluster",
          .then = "ddpsim import TRACE -o WORKLOAD"};
}

}  // namespace

std::optional<NextMeasurement> measure_next(const std::vector<Deviation>& deviations,
                                            const std::vector<Duration>& extra, Duration predicted,
                                            const Workload& workload, const Cluster& cluster,
                                            const SimulationOptions& options) {
  const Duration all = width(deviations, extra);
  Duration most = predicted.scaled(kWorthMeasuring);
  const std::string* source = nullptr;
  for (const Deviation& candidate : deviations) {
    std::vector<Deviation> others;
    for (const Deviation& deviation : deviations)
      if (deviation.source != candidate.source) others.push_back(deviation);
    const Duration narrower = all - width(others, extra);
    if (narrower <= most) continue;
    most = narrower;
    source = &candidate.source;
  }
  if (source == nullptr) return std::nullopt;
  return measurement_of(*source, workload, cluster, options);
}

}  // namespace ddpsim
