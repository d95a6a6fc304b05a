#include "row_checks.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/values/size_text.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestSize = 1LL << 50;

/// A size whose bandwidth has fewer digits tells nothing about its time.
constexpr double kCoarsest = 0.02;

struct Refusal {
  const std::string& file;
  const std::string& place;
  [[noreturn]] void operator()(std::string message, Hint hint) const {
    throw InputError({file, place, std::move(message), std::move(hint)});
  }
};

}  // namespace

MeasuredPoint checked_point(const RawRow& row, int ranks, const std::string& file) {
  const Refusal fail{file, row.place};
  MeasuredPoint point;
  point.place = row.place;
  if (row.size < 0 || row.size > kLargestSize) {
    fail(fmt::format("size is {} bytes", row.size), "Expected 0 to 2^50 bytes");
  }
  point.size = Bytes(row.size);
  const auto checked = [&](const Figure& time, const char* name) {
    if (!std::isfinite(time.value) || time.value > 1e12) {
      fail(fmt::format("{} is {} us", name, time.value),
           "Expected a number of microseconds; remove the row if the run failed there");
    }
    if (!(time.value > 0)) {
      fail(fmt::format("{} is {} us", name, time.value),
           "A measured time is above 0. Remove the row, or run with more iterations (-n)");
    }
    const double gbps = static_cast<double>(row.size) / time.value / 1e3;
    if (gbps > 1e5) {
      fail(fmt::format("{} of {} us moves {} at {:.3g} GB/s, which no machine does", name,
                       time.value, size_text(Bytes(row.size)), gbps),
           "Times must be in microseconds. Are these milliseconds or seconds?");
    }
    return time.value;
  };
  if (row.in_place_us) point.in_place_us = checked(*row.in_place_us, "the time in place");
  if (row.time_us) {
    point.time_us = checked(*row.time_us, "time");
    return point;
  }
  // Tables with only bandwidths.
  std::optional<Figure> algbw = row.algbw_gbps;
  if (!algbw && row.busbw_gbps) {
    if (ranks < 2) {
      fail("has only busbw, but its number of ranks is unknown",
           "State nodes and GPUs per node: LOG@NxG");
    }
    const double factor = 2.0 * (ranks - 1) / ranks;
    algbw = Figure{row.busbw_gbps->value / factor, row.busbw_gbps->half_unit / factor};
  }
  if (!algbw) fail("has neither a time nor a bandwidth", "Expected time_us or algbw_gbps");
  if (!std::isfinite(algbw->value) || algbw->value < 0 || algbw->value > 1e5) {
    fail(fmt::format("the bandwidth is {} GB/s", algbw->value),
         "Expected GB/s (1e9 bytes per second), more than 0");
  }
  if (algbw->half_unit > kCoarsest * algbw->value) return point;
  point.time_us = static_cast<double>(row.size) / algbw->value / 1e3;
  return point;
}

void check_algbw(const RawRow& row, const std::string& file) {
  const Refusal fail{file, row.place};
  constexpr double kTolerance = 0.02;
  if (!row.time_us || !row.algbw_gbps || row.size <= 0) return;
  const double low_time = row.time_us->value - row.time_us->half_unit;
  if (!(low_time > 0) || !std::isfinite(row.algbw_gbps->value)) return;
  const double kilobytes = static_cast<double>(row.size) / 1e3;
  const double low = kilobytes / (row.time_us->value + row.time_us->half_unit);
  const double high = kilobytes / low_time;
  const double printed = row.algbw_gbps->value;
  const double unit = row.algbw_gbps->half_unit;
  if (printed + unit >= low * (1 - kTolerance) && printed - unit <= high * (1 + kTolerance)) return;
  const double ratio = printed / (kilobytes / row.time_us->value);
  std::string hint = "time is in microseconds, algbw in GB/s: size / time / 1000";
  if (ratio > 900 && ratio < 1100) hint += ". Is this time in nanoseconds, or algbw in MB/s?";
  if (ratio > 0.0009 && ratio < 0.0011) hint += ". Is this time in milliseconds?";
  if (ratio > 7.8 && ratio < 8.2) hint += ". Is this algbw in Gbit/s?";
  if (ratio > 0.92 && ratio < 0.94) hint += ". Is this algbw in GiB/s?";
  fail(fmt::format("algbw is {} GB/s, but {} bytes in {} us are {:.4g} GB/s", printed, row.size,
                   row.time_us->value, kilobytes / row.time_us->value),
       hint);
}

}  // namespace ddpsim
