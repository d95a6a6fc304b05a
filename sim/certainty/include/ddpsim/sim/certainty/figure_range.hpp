// A predicted value of a candidate with its interval.
#pragma once

namespace ddpsim {

struct FigureRange {
  double low = 0;
  double value = 0;
  double high = 0;
  FigureRange times(double factor) const { return {low * factor, value * factor, high * factor}; }
  /// Range of 1 / value. Precondition: low, value and high are above 0.
  FigureRange inverse() const { return {1 / high, 1 / value, 1 / low}; }
};

}  // namespace ddpsim
