// The reducer's all-reduces in a recording, step by step.
#pragma once

#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

struct RecordedAllReduce {
  Bytes bytes;                  ///< on the wire
  std::vector<Duration> times;  ///< one per step, ascending
  int channels = 0;             ///< 0 if not recorded
};

struct RecordedAllReduces {
  /// Whether all ranks of the job were joined. Each time is then the shortest over the ranks: the
  /// last rank to arrive sees the transfer alone. Otherwise a time includes the wait for the last
  /// rank.
  bool waits_apart = false;
  std::vector<RecordedAllReduce> buckets;  ///< launch order
  /// Only if `waits_apart`: the all-reduces of each step on the clock of its representative, from
  /// the last rank's arrival on.
  std::vector<std::vector<RecordedCollective>> steps;
};

/// The all-reduces of every step in which they carry the same bytes as in the representative step,
/// on every rank. If no step does, those of the representative step. No list of times is empty.
RecordedAllReduces recorded_all_reduces(const Workload& workload);

/// Whether the workload was recorded on the same number of ranks of the same GPU and not carried
/// over from another GPU. The recorded times are then of the same work.
bool is_recorded_on(const Workload& workload, const Cluster& cluster);

}  // namespace ddpsim
