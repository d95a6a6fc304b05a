// How long each operation of rank 0's compute stream takes beyond one GPU's own time, and why, in
// the order of time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "collective_intervals.hpp"
#include "ddpsim/sim/step/loss.hpp"
#include "planned_step.hpp"

namespace ddpsim {

class StreamCauses {
 public:
  /// `intervals`: what other streams do at the same time (collective_intervals).
  explicit StreamCauses(const std::vector<CollectiveInterval>& intervals) : intervals_(intervals) {}

  void add(const Operation& operation, const OperationTime& time);

  /// Returns the time in which the model's work ran undisturbed.
  Duration work() const { return work_; }
  /// Returns all other time, by cause.
  const Loss& loss() const { return loss_; }

 private:
  /// Calls `visit` for each interval that overlaps `time`, in order, with the part that lies within.
  template <typename Visit>
  void for_each_within(const OperationTime& time, Visit visit) {
    // Operations come in the order of time: an interval that ended before this one is over for all
    // that follow.
    while (next_ < intervals_.size() && intervals_[next_].end <= time.start) ++next_;
    for (std::size_t i = next_; i < intervals_.size() && intervals_[i].start < time.end; ++i)
      visit(std::max(intervals_[i].start, time.start), std::min(intervals_[i].end, time.end),
            intervals_[i]);
  }

  void standing_still(OperationKind purpose, const OperationTime& time);
  void after_backward(OperationKind purpose, const OperationTime& time);

  const std::vector<CollectiveInterval>& intervals_;
  std::size_t next_ = 0;
  Duration work_;
  Loss loss_;
};

}  // namespace ddpsim
