#include "ddpsim/sim/certainty/allreduce_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/near_choices.hpp"
#include "measure_next.hpp"
#include "measured_sizes.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

Cluster uncalibrated(Cluster cluster) {
  cluster.calibration.reset();
  return cluster;
}

/// From the band of all-reduces of this size, and from the unknown number of nodes on a leaf.
Spread spread_of(CollectiveKind kind, const AllReduceRow& row, const Cluster& cluster) {
  const bool logged = kind == CollectiveKind::all_reduce;
  const Band band = duration_band(logged ? cluster : uncalibrated(cluster), row.size);
  std::vector<Sensitivity> sources{sensitivity(ErrorSource::collective_times,
                                               row.time.scaled(band.faster) - row.time,
                                               row.time.scaled(band.slower) - row.time)};
  if (!logged) sources.push_back(sources.front());
  for (const auto& loads : {cluster.loads_under_one_leaf, cluster.loads_scattered}) {
    if (loads == nullptr) continue;
    Cluster placed = cluster;
    placed.loads = loads;
    const Duration time = cost(kind, row.choice, row.size, placed);
    sources.push_back(sensitivity(ErrorSource::leaf_placement, time - row.time, Duration()));
  }
  return combine(sources);
}

void span_interval(AllReduceRow& row, CollectiveKind kind, const Cluster& cluster) {
  const Spread spread = spread_of(kind, row, cluster);
  row.low = std::max({Duration(), row.time + spread.low,
                      std::min(row.time, least_time(kind, row.choice, row.size, cluster))});
  row.high = row.time + spread.high;
}

/// At a job shape without a log, NCCL may choose anything that it estimates to take about as long,
/// whatever that really takes. At the size where it leaves LL on Slingshot, that is a quarter of
/// the time. Bands of clusters that are not calibrated include this already.
bool reach_near_choices(AllReduceTable& table, const Cluster& cluster,
                        const CollectiveTuning& tuning) {
  if (!cluster.calibration || table.collective != CollectiveKind::all_reduce) return false;
  bool reached = false;
  for (AllReduceRow& row : table.rows) {
    if (is_measured_at(*cluster.calibration, cluster.nodes, cluster.gpus_per_node, row.size))
      continue;
    for (const CollectiveChoice& choice :
         near_choices(table.collective, row.size, cluster, tuning)) {
      AllReduceRow other{.size = row.size, .choice = choice};
      other.time = cost(table.collective, choice, row.size, cluster);
      span_interval(other, table.collective, cluster);
      reached = reached || other.low < row.low || other.high > row.high;
      row.low = std::min(row.low, other.low);
      row.high = std::max(row.high, other.high);
    }
  }
  return reached;
}

/// Calibrations and their grades describe all-reduces only.
void grade(AllReduceTable& table, const Cluster& cluster, std::span<const Bytes> sizes) {
  Confidence& confidence = table.confidence;
  if (table.collective != CollectiveKind::all_reduce) {
    const std::string name(name_of(table.collective));
    confidence.grade = Grade::c;
    confidence.provenance = "not calibrated: no log of this collective";
    confidence.basis = fmt::format("no log of this collective ({}) supports it", name);
    confidence.because = {confidence.basis,
                          fmt::format("{}, and as much again for how {} may differ",
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
  confidence.provenance = provenance_of(cluster, confidence.grade);
}

}  // namespace

AllReduceTable all_reduce_table(const Cluster& cluster, const CollectiveTuning& tuning,
                                std::span<const Bytes> sizes, CollectiveKind collective) {
  AllReduceTable table;
  table.collective = collective;
  table.ranks = cluster.ranks();
  table.nodes = cluster.hosts();
  table.gpus_per_node = cluster.gpus_per_host();
  table.nodes_per_domain = cluster.hosts_per_node;
  table.gpu = cluster.gpu.name;
  for (const Bytes size : sizes) {
    AllReduceRow row;
    row.size = size;
    row.choice = select_algorithm(collective, size, cluster, tuning);
    row.time = cost(collective, row.choice, size, cluster);
    span_interval(row, collective, cluster);
    table.rows.push_back(row);
  }
  const bool near = reach_near_choices(table, cluster, tuning);
  for (const AllReduceRow& row : table.rows)
    if (row.time > Duration()) {
      table.confidence.low_percent = 100 * ((row.low - row.time) / row.time);
      table.confidence.high_percent = 100 * ((row.high - row.time) / row.time);
    }
  grade(table, cluster, sizes);
  if (near)
    table.confidence.because.emplace_back(
        "if NCCL estimates two choices within 7 % of each other, low and high cover both");
  return table;
}

void lay_side_by_side(AllReduceTable& table, const Cluster& cluster,
                      const CollectiveTuning& tuning) {
  for (AllReduceRow& row : table.rows) {
    const auto by = [&](Algorithm algorithm) -> std::optional<Duration> {
      CollectiveTuning only = tuning;
      only.algorithms = algorithm;
      const CollectiveChoice choice =
          select_algorithm(CollectiveKind::all_reduce, row.size, cluster, only);
      if (choice.algorithm != algorithm) return std::nullopt;
      return cost(CollectiveKind::all_reduce, choice, row.size, cluster);
    };
    OtherWays ways{
        .ring = by(Algorithm::ring), .tree = by(Algorithm::tree), .reduce_broadcast = {}};
    for (const CollectiveKind kind : {CollectiveKind::reduce, CollectiveKind::broadcast})
      ways.reduce_broadcast +=
          cost(kind, select_algorithm(kind, row.size, cluster, tuning), row.size, cluster);
    row.other_ways = ways;
  }
}

double algbw_gbps(Bytes size, Duration time) {
  return time > Duration() ? static_cast<double>(size.count()) / time.seconds() / 1e9 : 0;
}

double busbw_gbps(Bytes size, Duration time, int ranks, CollectiveKind collective) {
  return algbw_gbps(size, time) * ring_steps(collective, ranks) / ranks;
}

}  // namespace ddpsim
