// Quantities as types, so that a size cannot be passed for a time, nor a rate for a size.
//
// Time is an integer count of picoseconds (63 bits: 106 days). Sizes are integer bytes. Bandwidth
// is a real number of bytes per second, always per direction. The only way from a size to a time is
// Bytes / Bandwidth, which rounds up: a transfer never finishes before its last byte.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace ddpsim {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration picoseconds(std::int64_t count) { return Duration(count); }
  static constexpr Duration microseconds(double count) { return rounded(count * 1e6); }
  static constexpr Duration milliseconds(double count) { return rounded(count * 1e9); }
  static constexpr Duration seconds(double count) { return rounded(count * 1e12); }
  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t picoseconds() const { return picoseconds_; }
  constexpr double microseconds() const { return static_cast<double>(picoseconds_) / 1e6; }
  constexpr double milliseconds() const { return static_cast<double>(picoseconds_) / 1e9; }
  constexpr double seconds() const { return static_cast<double>(picoseconds_) / 1e12; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator-() const { return Duration(-picoseconds_); }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }
  constexpr Duration& operator-=(Duration other) { return *this = *this - other; }
  friend constexpr Duration operator+(Duration a, Duration b) {
    return Duration(a.picoseconds_ + b.picoseconds_);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    return Duration(a.picoseconds_ - b.picoseconds_);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t n) {
    return Duration(a.picoseconds_ * n);
  }
  friend constexpr Duration operator*(std::int64_t n, Duration a) { return a * n; }
  /// Scales by a dimensionless factor, rounded to the nearest picosecond.
  constexpr Duration scaled(double factor) const {
    return rounded(static_cast<double>(picoseconds_) * factor);
  }
  friend constexpr double operator/(Duration a, Duration b) {
    return static_cast<double>(a.picoseconds_) / static_cast<double>(b.picoseconds_);
  }

 private:
  constexpr explicit Duration(std::int64_t count) : picoseconds_(count) {}
  static constexpr Duration rounded(double ps) {
    constexpr double kLimit = 9.2e18;  // just inside the 63 bits
    if (ps >= kLimit) return max();
    if (ps <= -kLimit) return Duration(-std::numeric_limits<std::int64_t>::max());
    return Duration(static_cast<std::int64_t>(ps < 0 ? ps - 0.5 : ps + 0.5));
  }
  std::int64_t picoseconds_ = 0;
};

/// An instant on the simulated clock. Instant - instant = duration; instants do not add.
class TimePoint {
 public:
  constexpr TimePoint() = default;
  constexpr explicit TimePoint(Duration since_start) : since_start_(since_start) {}
  static constexpr TimePoint max() { return TimePoint(Duration::max()); }
  constexpr Duration since_start() const { return since_start_; }
  constexpr auto operator<=>(const TimePoint&) const = default;
  friend constexpr TimePoint operator+(TimePoint t, Duration d) {
    return TimePoint(t.since_start_ + d);
  }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) {
    return TimePoint(t.since_start_ - d);
  }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) {
    return a.since_start_ - b.since_start_;
  }

 private:
  Duration since_start_;
};

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  static constexpr Bytes max() { return Bytes(std::numeric_limits<std::int64_t>::max()); }
  constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes(a.count_ * n); }
  friend constexpr Bytes operator*(std::int64_t n, Bytes a) { return a * n; }

 private:
  std::int64_t count_ = 0;
};

/// Bytes per second, per direction.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bytes_per_second(double value) { return Bandwidth(value); }
  /// 1 GB/s = 1e9 bytes per second, as nccl-tests prints it.
  static constexpr Bandwidth gigabytes_per_second(double value) { return Bandwidth(value * 1e9); }
  constexpr double bytes_per_second() const { return value_; }
  constexpr double gigabytes_per_second() const { return value_ / 1e9; }
  constexpr auto operator<=>(const Bandwidth&) const = default;
  friend constexpr Bandwidth operator+(Bandwidth a, Bandwidth b) {
    return Bandwidth(a.value_ + b.value_);
  }
  friend constexpr Bandwidth operator*(Bandwidth a, double f) { return Bandwidth(a.value_ * f); }
  friend constexpr Bandwidth operator*(double f, Bandwidth a) { return a * f; }
  friend constexpr Bandwidth operator/(Bandwidth a, double f) { return Bandwidth(a.value_ / f); }
  friend constexpr double operator/(Bandwidth a, Bandwidth b) { return a.value_ / b.value_; }

 private:
  constexpr explicit Bandwidth(double value) : value_(value) {}
  double value_ = 0;
};

/// Time to move `size` at `rate`, rounded up to a whole picosecond. Duration::max() if the rate is
/// zero.
constexpr Duration operator/(Bytes size, Bandwidth rate) {
  if (size.count() <= 0) return Duration();
  if (!(rate.bytes_per_second() > 0)) return Duration::max();
  const double ps = static_cast<double>(size.count()) * 1e12 / rate.bytes_per_second();
  if (!(ps < 9.2e18)) return Duration::max();
  const auto floor = static_cast<std::int64_t>(ps);
  return Duration::picoseconds(floor + (static_cast<double>(floor) < ps ? 1 : 0));
}

namespace literals {
constexpr Duration operator""_ps(unsigned long long n) {
  return Duration::picoseconds(static_cast<std::int64_t>(n));
}
constexpr Duration operator""_us(unsigned long long n) {
  return Duration::picoseconds(static_cast<std::int64_t>(n) * 1'000'000);
}
constexpr Duration operator""_us(long double n) {
  return Duration::microseconds(static_cast<double>(n));
}
constexpr Duration operator""_ms(unsigned long long n) {
  return Duration::picoseconds(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr Duration operator""_ms(long double n) {
  return Duration::milliseconds(static_cast<double>(n));
}
constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n));
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) * 1024);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) * 1'048'576);
}
constexpr Bandwidth operator""_GBps(unsigned long long n) {
  return Bandwidth::gigabytes_per_second(static_cast<double>(n));
}
constexpr Bandwidth operator""_GBps(long double n) {
  return Bandwidth::gigabytes_per_second(static_cast<double>(n));
}
constexpr Bandwidth operator""_Gbps(unsigned long long n) {
  return Bandwidth::gigabytes_per_second(static_cast<double>(n) / 8);
}
}  // namespace literals

}  // namespace ddpsim
