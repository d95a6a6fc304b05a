// Compares two tables of one job shape: are they the same measurement, or how much do they differ?
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {

/// How many times as long the slower of the two takes, as the median over common sizes. Absent if
/// there are fewer than `fewest` of these.
inline std::optional<double> times_apart(const std::vector<MeasuredPoint>& one,
                                         const std::vector<MeasuredPoint>& other,
                                         std::size_t fewest) {
  std::vector<double> ratios;
  for (const MeasuredPoint& point : one) {
    const auto at = std::ranges::find(other, point.size, &MeasuredPoint::size);
    if (at == other.end()) continue;
    ratios.push_back(std::max(point.time_us, at->time_us) / std::min(point.time_us, at->time_us));
  }
  if (ratios.size() < std::max<std::size_t>(fewest, 1)) return std::nullopt;
  return median(std::move(ratios));
}

}  // namespace ddpsim
