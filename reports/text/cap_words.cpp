#include "cap_words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "text_layout.hpp"

namespace ddpsim {

std::string exact_cap(double cap_mb) {
  return fmt::format("{}", cap_mb);
}

std::string cap_inside(double value, const CapRange& range, bool upwards) {
  double power = 1;
  for (int decimals = 0; decimals <= 7; ++decimals, power *= 10) {
    const double rounded = (upwards ? std::ceil(value * power) : std::floor(value * power)) / power;
    if (rounded >= range.first && rounded <= range.second && decimals >= (value < 10 ? 3 : 2))
      return exact_cap(rounded);
  }
  return exact_cap(value);
}

std::string range_in_sentence(const CurvePoint& point) {
  const CapRange& range = point.cap_range_mb;
  if (!point.bucket_cap_mb)
    return fmt::format("the default cap after a first bucket of {} MiB",
                       cap_text(point.first_bucket_mb.value_or(0)));
  const std::string low = cap_inside(range.first, range, true);
  if (range.second == kNoLimitMb) return fmt::format("{} MiB and more", low);
  const std::string high = cap_inside(range.second, range, false);
  return low == high ? fmt::format("{} MiB", low) : fmt::format("{} to {} MiB", low, high);
}

std::string range_in_table(const CurvePoint& point) {
  if (!point.bucket_cap_mb) return "";
  const CapRange& range = point.cap_range_mb;
  const std::string low = cap_inside(range.first, range, true);
  if (range.second == kNoLimitMb) return low + " and more";
  const std::string high = cap_inside(range.second, range, false);
  if (low == high) return high;
  return range.first == 0 ? "up to " + high : low + " to " + high;
}

}  // namespace ddpsim
