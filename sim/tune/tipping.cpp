#include "ddpsim/sim/tipping.hpp"

namespace ddpsim {

TippingPoint tipping_point(std::span<const FigureRange> figures, Than than, double threshold) {
  const auto first = [&](double FigureRange::*bound) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const double figure = figures[i].*bound;
      if (than == Than::less ? figure < threshold : figure > threshold) return i;
    }
    return std::nullopt;
  };
  const bool less = than == Than::less;
  return {.predicted = first(&FigureRange::value),
          .earliest = first(less ? &FigureRange::low : &FigureRange::high),
          .latest = first(less ? &FigureRange::high : &FigureRange::low)};
}

}  // namespace ddpsim
