// This host's monotonic clock beside that of rank 0's host: how far apart they are, and how that changes. Quartz differs by
// some 10 ppm: 10 us in a second, more than what is to be measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ddpsim {

struct ClockSample {
  std::int64_t own_ns = 0;     ///< when, on this host's clock
  std::int64_t offset_ns = 0;  ///< to add to it for that of rank 0's
  std::int64_t error_ns = 0;   ///< at most: half of the round trip
};

/// Of several exchanges the one with the shortest round trip. `theirs` asks rank 0 for its time.
ClockSample sample_clock(const std::function<std::int64_t()>& own,
                         const std::function<std::int64_t()>& theirs, int exchanges = 50);

/// Linear between two samples; the nearer one's offset beyond them. So its error is nowhere larger than the larger of theirs,
/// where the clocks drift steadily.
class ClockLine {
 public:
  ClockLine(const ClockSample& before, const ClockSample& after) : before_(before), after_(after) {}
  std::int64_t offset_ns(std::int64_t own_ns) const;
  std::int64_t error_ns() const;
  /// How much faster rank 0's clock runs, in millionths, and how far that may be off.
  double drift_ppm() const;
  double drift_error_ppm() const;

 private:
  double over_ns() const;
  ClockSample before_;
  ClockSample after_;
};

}  // namespace ddpsim
