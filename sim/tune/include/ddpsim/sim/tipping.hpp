// From where on something holds: the first of several candidates that grow, as predicted and as surely as is known.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace ddpsim {

/// A figure of a candidate: as predicted, and between what it may lie.
struct FigureRange {
  double low = 0;
  double value = 0;
  double high = 0;
  FigureRange times(double factor) const { return {low * factor, value * factor, high * factor}; }
};

enum class Than { less, greater };

struct TippingPoint {
  std::optional<std::size_t> predicted;  ///< the first for which it holds as predicted …
  std::optional<std::size_t> earliest;   ///< … for which it may hold …
  std::optional<std::size_t> latest;     ///< … and for which it does in any case
};

/// "first figure less than 0.9", along figures in their order. Absent: for none.
TippingPoint tipping_point(std::span<const FigureRange> figures, Than than, double threshold);

}  // namespace ddpsim
