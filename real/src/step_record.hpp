// When things happened in one real step of one rank.
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
  std::vector<std::size_t> parameters;  ///< indices into Workload::parameters, in order of launch
  Bytes bytes;
  TimePoint ready;         ///< last gradient of the bucket written
  TimePoint launch_begin;  ///< host enqueues the collective …
  TimePoint launch_end;    ///< … and is done with that
  TimePoint start;         ///< it runs on this rank
  TimePoint end;
  TimePoint done;            ///< a hook's sums cast back; without one the end
  TimePoint copy_out_begin;  ///< equal to copy_out_end where nothing is copied
  TimePoint copy_out_end;
};

/// Of a micro-batch under no_sync.
struct MicroBatchRecord {
  TimePoint forward_begin;
  TimePoint backward_begin;
  TimePoint backward_end;
};

struct StepRecord {
  std::vector<MicroBatchRecord> accumulated;  ///< in front of the one whose backward all-reduces
  TimePoint forward_begin;                    ///< buffer broadcast included
  TimePoint backward_begin;
  TimePoint backward_end;  ///< last gradient written, hooks done
  TimePoint optimizer_begin;
  TimePoint optimizer_end;
  TimePoint end;  ///< the next one begins (complete_steps)
  /// All-reduce of the map of used parameters; equal where there is none.
  TimePoint map_start;
  TimePoint map_end;
  /// In the midst of copies out the host waits for the sums, and the device for the host; equal where nobody waits.
  TimePoint awaits_map;
  TimePoint has_map;
  std::vector<BucketRecord> buckets;  ///< in launch order

  TimePoint begin() const {
    return accumulated.empty() ? forward_begin : accumulated.front().forward_begin;
  }
  /// What a bucket's copies out take, the wait left out: one stretch, or one on each side.
  std::array<std::pair<TimePoint, TimePoint>, 2> copies_out(const BucketRecord& bucket) const;
  Duration forward() const;   ///< of all micro-batches
  Duration backward() const;  ///< of all micro-batches
};

/// All but the last of steps that were run one behind the other, each with its end: the last one's is not known.
std::vector<StepRecord> complete_steps(std::vector<StepRecord> steps);

/// Spans named as the simulator names them, so that the two can be laid side by side. Times count from
/// `zero`.
std::vector<Span> spans_of(const StepRecord& step, TimePoint zero);

/// Every instant of the step, moved.
void move_times(StepRecord& step, const std::function<TimePoint(TimePoint)>& moved);

/// To send to rank 0 and back; picoseconds, so nothing is lost.
std::string pack(std::vector<StepRecord> steps);
std::vector<StepRecord> unpack(std::string_view text);

}  // namespace ddpsim
