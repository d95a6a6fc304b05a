// When the GPU computed, and how long it took without the gaps: compacted timing.
//
// A GPU that waits for a slow host (a profiled step of small kernels) shows windows much longer than
// its work. Compacted timing is what the same kernels take when the host is always ahead:
//   Let B be the union of the step's GPU activities, NCCL's left out (kernels, copies and sets on any
//   stream, each from its start to its end). compacted(t) = the part of B before t.
//   Every window [from, to] becomes compacted(to) - compacted(from): forward, backward, each gradient's
//   `at` and `copied_at`, the copies out of the buckets and the optimizer. The order of gradients and
//   the durations of kernels stay; what two streams did at once stays at once.
// What meant something on the recorded clock alone is left out then: the period between steps, the
// host's times (the host is taken to be ahead), the tail of communication, NCCL's kernels and the
// buffer broadcast. Compute that NCCL kernels slowed stays as slow as recorded.
// A gap is taken to be the host's fault. It stops being true where the GPU waited for data, or compute
// for a collective (SyncBatchNorm, all-to-all): such waits vanish too, and the result is a lower bound.
#pragma once

#include <cstdint>
#include <vector>

#include "trace_records.hpp"

namespace ddpsim {

class BusyTime {
 public:
  BusyTime() = default;
  explicit BusyTime(const std::vector<Activity>& activities);

  /// Nanoseconds in which any activity but NCCL's ran.
  std::int64_t between(std::int64_t from_ns, std::int64_t to_ns) const;

 private:
  struct Stretch {
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::int64_t busy_before_ns;  ///< in all earlier stretches
  };
  std::int64_t before(std::int64_t time_ns) const;

  std::vector<Stretch> stretches_;  ///< disjoint, in order of time
};

}  // namespace ddpsim
