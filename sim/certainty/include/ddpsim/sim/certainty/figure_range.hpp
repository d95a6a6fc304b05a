// A figure of a candidate: as predicted, and between what it may lie.
#pragma once

namespace ddpsim {

struct FigureRange {
  double low = 0;
  double value = 0;
  double high = 0;
  FigureRange times(double factor) const { return {low * factor, value * factor, high * factor}; }
  /// Of 1 / figure. Precondition: all are above 0.
  FigureRange inverse() const { return {1 / high, 1 / value, 1 / low}; }
};

}  // namespace ddpsim
