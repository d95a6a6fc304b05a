#include "work_rate.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {

/// Doubles the amount until it takes long enough to be measured; what each further round takes is the rest between the two,
/// for the first kernel on an idle stream waits for its launch.
WorkRate WorkRate::calibrated(const std::function<Duration(std::int64_t rounds)>& time_of) {
  constexpr Duration kLongEnough = Duration::milliseconds(4);
  constexpr std::int64_t kFewest = 1 << 10;
  constexpr std::int64_t kMost = 1 << 24;  // no device does so many in less
  constexpr double kShortest = 1;  // a picosecond: whatever a clock says that moves in steps
  time_of(kFewest);                // clocks and caches warm
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
