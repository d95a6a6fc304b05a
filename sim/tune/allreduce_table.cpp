#include "ddpsim/sim/allreduce_table.hpp"

#include <fmt/format.h>

#include "measure_next.hpp"
#include "measured_sizes.hpp"
#include "uncertainty.hpp"

namespace ddpsim {

AllReduceTable all_reduce_table(const Cluster& cluster, const CollectiveTuning& tuning,
                                std::span<const Bytes> sizes) {
  AllReduceTable table;
  table.ranks = cluster.ranks();
  table.nodes = cluster.nodes;
  table.gpus_per_node = cluster.gpus_per_node;
  table.gpu = cluster.gpu.name;
  Band band;
  for (const Bytes size : sizes) {
    AllReduceRow row;
    row.size = size;
    row.choice = select_algorithm(CollectiveKind::all_reduce, size, cluster, tuning);
    row.time = cost(CollectiveKind::all_reduce, row.choice, size, cluster);
    band = duration_band(cluster, size);
    row.low = row.time.scaled(band.faster);
    row.high = row.time.scaled(band.slower);
    table.rows.push_back(row);
  }
  table.confidence.grade = grade_of(cluster, false);
  table.confidence.low_percent = 100 * (band.faster - 1);
  table.confidence.high_percent = 100 * (band.slower - 1);
  table.confidence.because = {calibration_of(cluster), band_evidence(cluster)};
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
