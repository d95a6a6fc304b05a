#include "busy_time.hpp"

#include <algorithm>

namespace ddpsim {

BusyTime::BusyTime(const std::vector<Activity>& activities) {
  for (const Activity& activity : activities) {
    if (!activity.nccl) intervals_.push_back({activity.start_ns, activity.end_ns, 0});
  }
  std::sort(intervals_.begin(), intervals_.end(),
            [](const BusyInterval& a, const BusyInterval& b) { return a.start_ns < b.start_ns; });
  std::vector<BusyInterval> disjoint;
  for (const BusyInterval& one : intervals_) {
    if (!disjoint.empty() && one.start_ns <= disjoint.back().end_ns) {
      disjoint.back().end_ns = std::max(disjoint.back().end_ns, one.end_ns);
      continue;
    }
    BusyInterval next = one;
    if (!disjoint.empty()) {
      const BusyInterval& last = disjoint.back();
      next.busy_before_ns = last.busy_before_ns + last.end_ns - last.start_ns;
    }
    disjoint.push_back(next);
  }
  intervals_ = std::move(disjoint);
}

std::int64_t BusyTime::before(std::int64_t time_ns) const {
  auto at = std::upper_bound(
      intervals_.begin(), intervals_.end(), time_ns,
      [](std::int64_t time, const BusyInterval& interval) { return time < interval.start_ns; });
  if (at == intervals_.begin()) return 0;
  --at;
  return at->busy_before_ns + std::min(time_ns, at->end_ns) - at->start_ns;
}

std::int64_t BusyTime::between(std::int64_t from_ns, std::int64_t to_ns) const {
  return before(to_ns) - before(from_ns);
}

}  // namespace ddpsim
