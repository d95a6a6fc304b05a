// The table that all_reduce_perf, or the *_perf of another collective, would print on a cluster.
// NCCL's choice and our cost model give the time of each size.
//
// No open log measures another collective here. Their interval combines two independent errors: the
// band of all-reduces on such clusters, and the same band again for how they may differ. That makes
// it sqrt(2) times as wide, at grade C.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

/// Times of the same sum, computed in ways NCCL did not choose. A way is absent if NCCL does not
/// have it on this cluster.
struct OtherWays {
  std::optional<Duration> ring;
  std::optional<Duration> tree;
  /// A reduce to one rank, then a broadcast from it, the way textbooks introduce all-reduce.
  Duration reduce_broadcast;
};

/// Prediction for one size: out of place, all ranks ready at once, idle network.
struct AllReduceRow {
  Bytes size;
  CollectiveChoice choice;
  Duration time;
  /// `low` to `high` is the 80 % interval over logs of other clusters; see duration_band.
  Duration low;
  Duration high;
  std::optional<OtherWays> other_ways{};  ///< only if asked for
};

struct AllReduceTable {
  CollectiveKind collective = CollectiveKind::all_reduce;
  int ranks = 1;
  int nodes = 1;
  int gpus_per_node = 1;
  int nodes_per_domain = 1;        ///< nodes whose GPUs one NVLink domain joins
  std::string gpu;                 ///< model
  std::vector<AllReduceRow> rows;  ///< in the order of the sizes asked for
  Confidence confidence;           ///< interval of the largest size
};

AllReduceTable all_reduce_table(const Cluster& cluster, const CollectiveTuning& tuning,
                                std::span<const Bytes> sizes,
                                CollectiveKind collective = CollectiveKind::all_reduce);

/// Fills in other_ways. Precondition: `table` holds all-reduces on that cluster.
void lay_side_by_side(AllReduceTable& table, const Cluster& cluster,
                      const CollectiveTuning& tuning);

/// Size over time in decimal GB/s, as nccl-tests prints it; 0 if the time is 0.
double algbw_gbps(Bytes size, Duration time);
/// The rate that each rank's link carries in a ring: algbw x 2(n - 1)/n. collective.hpp has the
/// factors of other collectives.
double busbw_gbps(Bytes size, Duration time, int ranks,
                  CollectiveKind collective = CollectiveKind::all_reduce);

}  // namespace ddpsim
