// Times of one real step on one rank.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

struct BucketRecord {
  /// Indices into Workload::parameters, in launch order.
  std::vector<std::size_t> parameters;
  Bytes bytes;
  TimePoint ready;         ///< last gradient of the bucket written
  TimePoint launch_begin;  ///< the host begins to enqueue the collective
  TimePoint launch_end;    ///< the host has enqueued it
  TimePoint start;         ///< it starts on this rank
  TimePoint end;
  /// The hook's sums are cast back; without a hook equal to `end`.
  TimePoint done;
  TimePoint copy_out_begin;  ///< equal to copy_out_end without a copy
  TimePoint copy_out_end;
};

/// A micro-batch under no_sync.
struct MicroBatchRecord {
  TimePoint forward_begin;
  TimePoint backward_begin;
  TimePoint backward_end;
};

struct StepRecord {
  std::vector<MicroBatchRecord> accumulated;  ///< those before the one that all-reduces
  TimePoint forward_begin;                    ///< includes the buffer broadcast
  TimePoint backward_begin;
  TimePoint backward_end;  ///< last gradient written, hooks done
  TimePoint optimizer_begin;
  TimePoint optimizer_end;
  TimePoint end;  ///< the next one begins (complete_steps)
  /// All-reduce of the map of used parameters; both times are equal if there is none.
  TimePoint map_start;
  TimePoint map_end;
  /// During the copies out, the host waits for the sums, and the device waits for the host. Both
  /// times are equal if nothing waits.
  TimePoint awaits_map;
  TimePoint has_map;
  std::vector<BucketRecord> buckets;  ///< in launch order

  TimePoint begin() const {
    return accumulated.empty() ? forward_begin : accumulated.front().forward_begin;
  }
  /// Times of a bucket's copies out without the wait: one interval, or one on each side of the
  /// wait.
  std::array<std::pair<TimePoint, TimePoint>, 2> copies_out(const BucketRecord& bucket) const;
  Duration forward() const;   ///< of all micro-batches
  Duration backward() const;  ///< of all micro-batches
};

/// All steps except the last, each with its end. They ran one after the other, and the end of the
/// last one is unknown.
std::vector<StepRecord> complete_steps(std::vector<StepRecord> steps);

/// Spans with the simulator's names, for comparison. Times count from `zero`.
std::vector<Span> spans_of(const StepRecord& step, TimePoint zero);

/// Changes every time of the step with `moved`.
void move_times(StepRecord& step, const std::function<TimePoint(TimePoint)>& moved);

/// Serialises steps for rank 0. Times are picoseconds, so nothing is lost.
std::string pack(std::vector<StepRecord> steps);
std::vector<StepRecord> unpack(std::string_view text);

}  // namespace ddpsim
