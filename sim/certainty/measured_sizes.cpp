#include "measured_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "ddpsim/sim/values/size_text.hpp"
#include "measure_next.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// How far beyond its last size a log still counts: two powers of two. At that distance the
/// calibration again leaves three quarters of the cost model's error open (left_open of
/// calibrated_band.cpp).
constexpr double kReach = 4;
/// A job may have this many times the measured nodes. The cost of a ring or tree is then
/// extrapolated no further in nodes than in size.
constexpr int kNodesReach = 4;
/// The largest bucket with which published DDP steps were measured over a network (the DDP paper,
/// caps up to 200 MB), and how many times larger a bucket may be. At 1000 MB a loss of 5 to 8 % was
/// predicted, but 0 to 2 % was gained.
constexpr Bytes kLargestBucket{200 << 20};
constexpr std::int64_t kBucketReach = 2;

/// Logs of one node tell nothing about the network between nodes, and the reverse. They count only
/// if there are no others, because the distance in nodes is then reported anyway.
bool is_near(Bytes size, const Cluster& cluster) {
  const std::vector<CalibratedShape>& logs = cluster.calibration->shapes;
  const auto kind = [&](const CalibratedShape& log) {
    return (log.nodes > 1) == (cluster.nodes > 1);
  };
  const bool any = std::none_of(logs.begin(), logs.end(), kind);
  const auto bytes = static_cast<double>(size.count());
  return std::any_of(logs.begin(), logs.end(), [&](const CalibratedShape& log) {
    return (any || kind(log)) && bytes * kReach >= static_cast<double>(log.smallest.count()) &&
           bytes <= kReach * static_cast<double>(log.largest.count());
  });
}

/// The most nodes in the cluster's own logs if any ran over the network, else in logs of its kind.
int nodes_measured(const Cluster& cluster) {
  int most = 0;
  if (cluster.calibration)
    for (const CalibratedShape& log : cluster.calibration->shapes)
      if (log.nodes > 1) most = std::max(most, log.nodes);
  return most > 0 ? most : most_nodes_measured(cluster);
}

}  // namespace

std::string beyond_measured(const std::vector<Bytes>& sizes, const Job& job) {
  const Cluster& cluster = job.cluster();
  if (cluster.ranks() <= 1) return "";
  const Bytes largest = sizes.empty() ? Bytes() : *std::ranges::max_element(sizes);
  if (largest > kLargestBucket * kBucketReach)
    return fmt::format("it makes all-reduces of {}, but no step was measured with buckets above {}",
                       rounded_size_text(largest), rounded_size_text(kLargestBucket));
  if (nccl_of(job.model()) == nullptr) return "";
  const int nodes = nodes_measured(cluster);
  if (cluster.nodes > 1 && cluster.nodes > kNodesReach * nodes)
    return fmt::format(
        "all-reduces of such GPUs over such a network were measured on at most {} nodes, which "
        "supports up to {}, but this job has {}",
        nodes, kNodesReach * nodes, cluster.nodes);
  if (cluster.calibration) {
    const auto far = std::ranges::find_if(
        sizes, [&](Bytes size) { return size > Bytes() && !is_near(size, cluster); });
    return far == sizes.end() ? ""
                              : fmt::format("no log of this cluster covers all-reduces of {}",
                                            rounded_size_text(*far));
  }
  return cluster.gpu.vendor == GpuVendor::amd
             ? "no all-reduce of such GPUs was measured here or on a machine like this"
             : "";
}

void grade_by_sizes(Confidence& confidence, const std::vector<Bytes>& sizes, std::string_view what,
                    const Cluster& cluster) {
  if (!cluster.calibration || cluster.ranks() <= 1) return;
  std::vector<Bytes> outside;
  double all = 0;
  double unknown = 0;
  for (const Bytes size : sizes) {
    const auto bytes = static_cast<double>(size.count());
    all += bytes;
    if (size <= Bytes() || is_near(size, cluster)) continue;
    unknown += bytes;
    outside.push_back(size);
  }
  if (outside.empty() || unknown * 2 <= all) return;
  confidence.grade = Grade::c;
  const auto [least, most] = std::minmax_element(outside.begin(), outside.end());
  const std::string range = *least == *most ? rounded_size_text(*least)
                                            : fmt::format("{} to {}", rounded_size_text(*least),
                                                          rounded_size_text(*most));
  std::string reason = fmt::format("no log covers {} of {}", what, range);
  confidence.basis = reason;
  if (auto next = measure_all_reduces(ErrorSource::collective_times, outside, cluster)) {
    reason += "; run " + next->command;
    confidence.measure_next = std::move(next);
  }
  const auto second = confidence.because.empty() ? 0 : 1;
  confidence.because.insert(confidence.because.begin() + second, std::move(reason));
}

}  // namespace ddpsim
