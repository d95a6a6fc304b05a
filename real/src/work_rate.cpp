#include "work_rate.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {

/// Doubles the amount of work until it takes long enough to measure. The time of a round is the
/// difference between the last two amounts. This excludes the launch, for which the first kernel on
/// an idle stream waits.
WorkRate WorkRate::calibrated(const std::function<Duration(std::int64_t rounds)>& time_of) {
  constexpr Duration kLongEnough = Duration::milliseconds(4);
  constexpr std::int64_t kFewest = 1 << 10;
  constexpr std::int64_t kMost = 1 << 24;  // no device does more in less time
  constexpr double kShortest = 1;          // 1 ps, for clocks that move in steps
  time_of(kFewest);                        // warms up clocks and caches
  std::int64_t rounds = kFewest;
  Duration less = time_of(rounds);
  for (;;) {
    const Duration more = time_of(2 * rounds);
    const auto between = static_cast<double>((more - less).picoseconds());
    if (more >= kLongEnough || rounds >= kMost)
      return WorkRate(std::max(between / static_cast<double>(rounds), kShortest));
    rounds *= 2;
    less = more;
  }
}

std::int64_t WorkRate::rounds(Duration duration) const {
  return std::max<std::int64_t>(
      0, std::llround(static_cast<double>(duration.picoseconds()) / picoseconds_));
}

}  // namespace ddpsim
