// Quantiles of a sample x(1) <= … <= x(n), all by one definition, the nearest rank:
//
//   quantile(x, p) = the smallest value that at least the share p of all do not exceed
//                  = x(k), k the least rank of at least 1 with k / n >= p
//
// This is definition 1 of Hyndman and Fan (Sample Quantiles in Statistical Packages, The American
// Statistician 50, 1996); numpy calls it "inverted_cdf". The result is always a measured value, for
// any type of Value. It never invents a value between two: the 90th percentile of five steps is the
// longest of them. That shows how few five are, where an interpolation would promise less.
//
// The median is the one exception, because everybody computes it so: for an even number it is the
// mean of the middle two, as in numpy and in Python's `statistics`. Callers that need a measured
// value take quantile(x, 0.5), the lower median.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {

/// `values` in any order, not empty; `share` from 0 to 1.
template <typename Value>
Value quantile(std::vector<Value> values, double share) {
  DDPSIM_ASSERT(!values.empty(), "a quantile of nothing");
  DDPSIM_ASSERT(share >= 0 && share <= 1, "a quantile's share lies within 0 and 1");
  const auto count = static_cast<double>(values.size());
  double rank = std::max(std::ceil(share * count), 1.0);
  if (rank > 1 && (rank - 1) / count >= share) --rank;  // 0.07 * 100 is a little more than 7
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(values.begin(), at, values.end());
  return std::move(*at);
}

/// `values` in any order, not empty.
inline double median(std::vector<double> values) {
  DDPSIM_ASSERT(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace ddpsim
