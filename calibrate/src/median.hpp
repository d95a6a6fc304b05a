#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ddpsim {

/// Precondition: not empty. Of an even number the mean of the middle two.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace ddpsim
