#include "ddpsim/sim/allreduce_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "measure_next.hpp"
#include "measured_sizes.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// By the band of all-reduces of the size, and by what is not known of leaves.
Spread spread_of(const AllReduceRow& row, const Cluster& cluster) {
  const Band band = duration_band(cluster, row.size);
  std::vector<Sensitivity> sources{sensitivity(ErrorSource::collective_times,
                                               row.time.scaled(band.faster) - row.time,
                                               row.time.scaled(band.slower) - row.time)};
  if (cluster.loads_under_one_leaf) {
    Cluster together = cluster;
    together.loads = cluster.loads_under_one_leaf;
    const Duration time = cost(CollectiveKind::all_reduce, row.choice, row.size, together);
    sources.push_back(sensitivity(ErrorSource::leaf_placement, time - row.time, Duration()));
  }
  return combine(sources);
}

}  // namespace

AllReduceTable all_reduce_table(const Cluster& cluster, const CollectiveTuning& tuning,
                                std::span<const Bytes> sizes) {
  AllReduceTable table;
  table.ranks = cluster.ranks();
  table.nodes = cluster.nodes;
  table.gpus_per_node = cluster.gpus_per_node;
  table.gpu = cluster.gpu.name;
  for (const Bytes size : sizes) {
    AllReduceRow row;
    row.size = size;
    row.choice = select_algorithm(CollectiveKind::all_reduce, size, cluster, tuning);
    row.time = cost(CollectiveKind::all_reduce, row.choice, size, cluster);
    const Spread spread = spread_of(row, cluster);
    row.low = std::max(Duration(), row.time + spread.low);
    row.high = row.time + spread.high;
    if (row.time > Duration()) {
      table.confidence.low_percent = 100 * (spread.low / row.time);
      table.confidence.high_percent = 100 * (spread.high / row.time);
    }
    table.rows.push_back(row);
  }
  table.confidence.grade = grade_of(cluster, false);
  table.confidence.because = {calibration_of(cluster), band_evidence(cluster)};
  if (std::string errors = left_out_errors(cluster); !errors.empty())
    table.confidence.because.push_back(std::move(errors));
  table.confidence.measure_next =
      measure_all_reduces(ErrorSource::collective_times, {sizes.begin(), sizes.end()}, cluster);
  grade_by_sizes(table.confidence, {sizes.begin(), sizes.end()}, "all-reduces", cluster);
  return table;
}

double algbw_gbps(Bytes size, Duration time) {
  return time > Duration() ? static_cast<double>(size.count()) / time.seconds() / 1e9 : 0;
}

double busbw_gbps(Bytes size, Duration time, int ranks) {
  return algbw_gbps(size, time) * 2 * (ranks - 1) / ranks;
}

}  // namespace ddpsim
