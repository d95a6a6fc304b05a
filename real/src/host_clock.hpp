// The host's clock. Real measurements are the only part of this program that reads a clock.
#pragma once

#include <cstdint>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Nanoseconds of CLOCK_MONOTONIC, which is the same for all processes of a host.
std::int64_t monotonic_ns();

/// The clock that all ranks of a job share: the monotonic time of rank 0's host, counted from an
/// origin that rank 0 chose. Absolute times would not fit, because 63 bits of picoseconds last 106
/// days.
class HostClock {
 public:
  HostClock() = default;
  explicit HostClock(std::int64_t origin_ns) : origin_ns_(origin_ns) {}
  TimePoint now() const { return at(monotonic_ns()); }
  TimePoint at(std::int64_t local_ns) const {
    return TimePoint(Duration::picoseconds((local_ns - origin_ns_) * 1000));
  }
  std::int64_t local_ns(TimePoint instant) const {
    return instant.since_start().picoseconds() / 1000 + origin_ns_;
  }

 private:
  std::int64_t origin_ns_ = 0;  ///< on this host's monotonic clock
};

/// Sleeps until the clock shows `instant`. Returns at once if that has passed.
void sleep_until(const HostClock& clock, TimePoint instant);

/// Sets the timer slack of this thread to one nanosecond instead of 50 us.
void ask_for_sharp_timers();

}  // namespace ddpsim
