#include "busy_time.hpp"

#include <algorithm>

namespace ddpsim {

BusyTime::BusyTime(const std::vector<Activity>& activities) {
  for (const Activity& activity : activities) {
    if (!activity.nccl) stretches_.push_back({activity.start_ns, activity.end_ns, 0});
  }
  std::sort(stretches_.begin(), stretches_.end(),
            [](const Stretch& a, const Stretch& b) { return a.start_ns < b.start_ns; });
  std::vector<Stretch> disjoint;
  for (const Stretch& one : stretches_) {
    if (!disjoint.empty() && one.start_ns <= disjoint.back().end_ns) {
      disjoint.back().end_ns = std::max(disjoint.back().end_ns, one.end_ns);
      continue;
    }
    Stretch next = one;
    if (!disjoint.empty()) {
      const Stretch& last = disjoint.back();
      next.busy_before_ns = last.busy_before_ns + last.end_ns - last.start_ns;
    }
    disjoint.push_back(next);
  }
  stretches_ = std::move(disjoint);
}

std::int64_t BusyTime::before(std::int64_t time_ns) const {
  auto at = std::upper_bound(
      stretches_.begin(), stretches_.end(), time_ns,
      [](std::int64_t time, const Stretch& stretch) { return time < stretch.start_ns; });
  if (at == stretches_.begin()) return 0;
  --at;
  return at->busy_before_ns + std::min(time_ns, at->end_ns) - at->start_ns;
}

std::int64_t BusyTime::between(std::int64_t from_ns, std::int64_t to_ns) const {
  return before(to_ns) - before(from_ns);
}

}  // namespace ddpsim
