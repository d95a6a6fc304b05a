// Work with a remainder and a rate that may change while it runs. Integer arithmetic: no result
// depends on rounding modes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

__extension__ using Int128 = __int128;  // products of picoseconds and fixed-point rates

/// A fraction of full speed in 30-bit fixed point.
class Rate {
 public:
  static constexpr std::int64_t kFull = std::int64_t{1} << 30;
  explicit Rate(double fraction = 1)
      : value_(std::clamp(static_cast<std::int64_t>(fraction * static_cast<double>(kFull)),
                          kFull / 64, kFull)) {}
  bool operator==(const Rate&) const = default;
  Duration work_done_in(Duration elapsed) const {
    return Duration::picoseconds(
        static_cast<std::int64_t>(static_cast<Int128>(elapsed.picoseconds()) * value_ / kFull));
  }
  Duration time_for(Duration work) const {
    if (value_ == kFull) return work;
    const Int128 scaled = static_cast<Int128>(work.picoseconds()) * kFull;
    return Duration::picoseconds(static_cast<std::int64_t>((scaled + value_ - 1) / value_));
  }

 private:
  std::int64_t value_;  ///< never 0: a stalled task would never end
};

/// Work in progress.
struct Task {
  Duration remaining;  ///< at full rate
  TimePoint
      since;  ///< instant `remaining` was true; of work in pieces, the one that is done since then included
  Rate rate;
  std::uint32_t version = 0;  ///< of the predicted end; older predictions are stale

  void start(Duration work, Rate at, TimePoint now) {
    remaining = work;
    since = now;
    rate = at;
    ++version;
  }
  /// More work behind what is done, at the same rate: rounded up together, so that nothing depends on the number of pieces.
  void go_on(Duration work) {
    remaining += work;
    ++version;
  }
  void change_rate(Rate to, TimePoint now) {
    remaining -= rate.work_done_in(now - since);
    since = now;
    rate = to;
    ++version;
  }
  TimePoint end() const { return since + rate.time_for(remaining); }
};

}  // namespace ddpsim
