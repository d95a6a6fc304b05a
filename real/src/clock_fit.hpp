// Difference between this host's monotonic clock and that of rank 0's host, and its change over
// time. Quartz clocks differ by some 10 ppm. That is 10 us in a second, which is more than the
// times to be measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ddpsim {

struct ClockSample {
  std::int64_t own_ns = 0;     ///< time of the sample on this host's clock
  std::int64_t offset_ns = 0;  ///< add it to get rank 0's clock
  std::int64_t error_ns = 0;   ///< largest error: half of the round trip
};

/// Exchanges times several times and returns the exchange with the shortest round trip. `theirs`
/// asks rank 0 for its time.
ClockSample sample_clock(const std::function<std::int64_t()>& own,
                         const std::function<std::int64_t()>& theirs, int exchanges = 50);

/// Linear between two samples. Beyond them, the offset of the nearer sample applies. If clocks
/// drift steadily, the error is never larger than the larger error of the two samples.
class ClockLine {
 public:
  ClockLine(const ClockSample& before, const ClockSample& after) : before_(before), after_(after) {}
  std::int64_t offset_ns(std::int64_t own_ns) const;
  std::int64_t error_ns() const;
  /// How much faster rank 0's clock runs, in parts per million, and the error of that.
  double drift_ppm() const;
  double drift_error_ppm() const;

 private:
  double over_ns() const;
  ClockSample before_;
  ClockSample after_;
};

}  // namespace ddpsim
