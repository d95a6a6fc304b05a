// Work with a remainder and a rate that may change while it runs. All arithmetic is in integers, so
// no result depends on rounding modes.
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
  /// Never 0, because a stalled task would never end.
  std::int64_t value_;
};

/// Work in progress.
struct Task {
  Duration remaining;  ///< at full rate
  /// Instant at which `remaining` was true. If work is added later, `remaining` includes the part
  /// that was done since then.
  TimePoint since;
  Rate rate;
  /// Version of the predicted end. Older predictions are stale.
  std::uint32_t version = 0;

  void start(Duration work, Rate at, TimePoint now) {
    remaining = work;
    since = now;
    rate = at;
    ++version;
  }
  /// Adds work after what is already there, at the same rate. All of it is rounded up together, so
  /// nothing depends on the number of pieces.
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
