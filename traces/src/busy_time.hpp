// When the GPU computed, and how long it took without the gaps: compacted timing.
//
// If a GPU waits for a slow host (a profiled step of small kernels), its windows are much longer
// than its work. Compacted timing is what the same kernels take if the host is always ahead:
//
//   Let B be the union of the step's GPU activities without NCCL's. Activities are kernels, copies
//   and sets on any stream, each from its start to its end. Let compacted(t) be the part of B
//   before t.
//
//   Every window [from, to] becomes compacted(to) - compacted(from). Windows are forward, backward,
//   each gradient's `at` and `copied_at`, the copies out of the buckets and the optimizer.
//   The order of gradients and the durations of kernels stay. Streams that overlapped still
//   overlap.
//
// Values that only make sense on the recorded clock are left out:
//
// - the period between steps and the tail of communication,
// - the host's times (the host is assumed to be ahead),
// - NCCL's kernels and the buffer broadcast.
//
// Compute that NCCL kernels slowed down stays as slow as recorded.
//
// Every gap is attributed to the host. That is wrong if the GPU waited for data, or if compute
// waited for a collective (SyncBatchNorm, all-to-all). Such waits vanish too, so the result is a
// lower bound.
#pragma once

#include <cstdint>
#include <vector>

#include "trace_records.hpp"

namespace ddpsim {

class BusyTime {
 public:
  BusyTime() = default;
  explicit BusyTime(const std::vector<Activity>& activities);

  /// Nanoseconds in which any activity except NCCL's ran.
  std::int64_t between(std::int64_t from_ns, std::int64_t to_ns) const;

 private:
  struct BusyInterval {
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::int64_t busy_before_ns;  ///< in all earlier intervals
  };
  std::int64_t before(std::int64_t time_ns) const;

  std::vector<BusyInterval> intervals_;  ///< disjoint, in order of time
};

}  // namespace ddpsim
