// What all_reduce_perf, or the *_perf of another collective, would print on a cluster: NCCL's
// choice and our cost model, size by size.
//
// No open log here is of another collective. Their band is that of all-reduces on such clusters, calibrated or not, and
// once more the same beside it, independent, for what they may do otherwise: sqrt(2) times as wide, grade C.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

/// The same sum, done otherwise than NCCL chose. Absent: NCCL has no such way on this cluster.
struct OtherWays {
  std::optional<Duration> ring;
  std::optional<Duration> tree;
  Duration
      reduce_broadcast;  ///< a reduce to one rank, and behind it a broadcast from there, as lectures begin with
};

/// One size, out of place, all ranks ready at once on an idle network.
struct AllReduceRow {
  Bytes size;
  CollectiveChoice choice;
  Duration time;
  Duration low;                           ///< four in five logs of other clusters lay above …
  Duration high;                          ///< … and below, together: see duration_band
  std::optional<OtherWays> other_ways{};  ///< where asked for
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

/// Fills in other_ways. Precondition: a table of all-reduces on that cluster.
void lay_side_by_side(AllReduceTable& table, const Cluster& cluster,
                      const CollectiveTuning& tuning);

/// GB/s, decimal: size over time, as nccl-tests prints it. 0 where no time passes.
double algbw_gbps(Bytes size, Duration time);
/// algbw x 2(n - 1)/n, or of another collective as collective.hpp has it: what each rank's link must carry in a ring.
double busbw_gbps(Bytes size, Duration time, int ranks,
                  CollectiveKind collective = CollectiveKind::all_reduce);

}  // namespace ddpsim
