#include "ddpsim/sim/allreduce_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "measure_next.hpp"
#include "measured_sizes.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

Cluster uncalibrated(Cluster cluster) {
  cluster.calibration.reset();
  return cluster;
}

/// By the band of all-reduces of the size, and by what is not known of leaves.
Spread spread_of(CollectiveKind kind, const AllReduceRow& row, const Cluster& cluster) {
  const bool logged = kind == CollectiveKind::all_reduce;
  const Band band = duration_band(logged ? cluster : uncalibrated(cluster), row.size);
  std::vector<Sensitivity> sources{sensitivity(ErrorSource::collective_times,
                                               row.time.scaled(band.faster) - row.time,
                                               row.time.scaled(band.slower) - row.time)};
  if (!logged) sources.push_back(sources.front());
  if (cluster.loads_under_one_leaf) {
    Cluster together = cluster;
    together.loads = cluster.loads_under_one_leaf;
    const Duration time = cost(kind, row.choice, row.size, together);
    sources.push_back(sensitivity(ErrorSource::leaf_placement, time - row.time, Duration()));
  }
  return combine(sources);
}

/// What calibrations and their grades say is of all-reduces.
void grade(AllReduceTable& table, const Cluster& cluster, std::span<const Bytes> sizes) {
  Confidence& confidence = table.confidence;
  if (table.collective != CollectiveKind::all_reduce) {
    const std::string name(name_of(table.collective));
    confidence.grade = Grade::c;
    confidence.basis = fmt::format("no log of this collective ({}) stands behind it", name);
    confidence.because = {confidence.basis,
                          fmt::format("{}, and as much again for what {} may do otherwise",
                                      band_evidence(uncalibrated(cluster)), name)};
    if (cluster.calibration) confidence.because.push_back(calibration_of(cluster));
    return;
  }
  confidence.grade = grade_of(cluster, false);
  confidence.because = {calibration_of(cluster), band_evidence(cluster)};
  if (std::string errors = left_out_errors(cluster); !errors.empty())
    confidence.because.push_back(std::move(errors));
  confidence.measure_next =
      measure_all_reduces(ErrorSource::collective_times, {sizes.begin(), sizes.end()}, cluster);
  grade_by_sizes(confidence, {sizes.begin(), sizes.end()}, "all-reduces", cluster);
}

}  // namespace

AllReduceTable all_reduce_table(const Cluster& cluster, const CollectiveTuning& tuning,
                                std::span<const Bytes> sizes, CollectiveKind collective) {
  AllReduceTable table;
  table.collective = collective;
  table.ranks = cluster.ranks();
  table.nodes = cluster.nodes;
  table.gpus_per_node = cluster.gpus_per_node;
  table.gpu = cluster.gpu.name;
  for (const Bytes size : sizes) {
    AllReduceRow row;
    row.size = size;
    row.choice = select_algorithm(collective, size, cluster, tuning);
    row.time = cost(collective, row.choice, size, cluster);
    const Spread spread = spread_of(collective, row, cluster);
    row.low = std::max({Duration(), row.time + spread.low,
                        std::min(row.time, least_time(collective, row.choice, size, cluster))});
    row.high = row.time + spread.high;
    if (row.time > Duration()) {
      table.confidence.low_percent = 100 * ((row.low - row.time) / row.time);
      table.confidence.high_percent = 100 * (spread.high / row.time);
    }
    table.rows.push_back(row);
  }
  grade(table, cluster, sizes);
  return table;
}

double algbw_gbps(Bytes size, Duration time) {
  return time > Duration() ? static_cast<double>(size.count()) / time.seconds() / 1e9 : 0;
}

double busbw_gbps(Bytes size, Duration time, int ranks, CollectiveKind collective) {
  return algbw_gbps(size, time) * ring_steps(collective, ranks) / ranks;
}

}  // namespace ddpsim
