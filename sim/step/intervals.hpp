// Unions of time intervals.
#pragma once

#include <algorithm>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

struct Interval {
  TimePoint start;
  TimePoint end;
};

/// The union as sorted, disjoint intervals.
inline std::vector<Interval> union_of(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (!merged.empty() && interval.start <= merged.back().end)
      merged.back().end = std::max(merged.back().end, interval.end);
    else
      merged.push_back(interval);
  }
  return merged;
}

/// Total length of the sorted, disjoint `intervals` inside [from, to].
inline Duration length_within(const std::vector<Interval>& intervals, TimePoint from,
                              TimePoint to) {
  Duration total;
  auto interval = std::ranges::upper_bound(intervals, from, {}, &Interval::end);
  for (; interval != intervals.end() && interval->start < to; ++interval)
    total += std::max(std::min(interval->end, to) - std::max(interval->start, from), Duration());
  return total;
}

}  // namespace ddpsim
