// What a recording tells of the reducer's all-reduces, step by step.
#pragma once

#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

struct RecordedAllReduce {
  Bytes bytes;                  ///< on the wire
  std::vector<Duration> times;  ///< one a step, ascending
  int channels = 0;             ///< 0 where not recorded
};

struct RecordedAllReduces {
  /// All ranks of the job were joined: a time is the shortest of the ranks', that of the last to arrive, the transfer
  /// alone. Otherwise it holds the wait for the last as well.
  bool waits_apart = false;
  std::vector<RecordedAllReduce> buckets;  ///< launch order
  /// Where waits are apart: each step's on the clock of its representative, from the last rank's arrival on.
  std::vector<std::vector<RecordedCollective>> steps;
};

/// Of every step whose all-reduces carry what those of the representative step do, on every rank; where there is none,
/// of the representative step. No list of times is empty.
RecordedAllReduces recorded_all_reduces(const Workload& workload);

/// Recorded on as many ranks of the same GPU, and not carried over from another: its times are of the same work.
bool is_recorded_on(const Workload& workload, const Cluster& cluster);

}  // namespace ddpsim
