// Where along a range something holds: as predicted, at the most and at the least.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ddpsim/sim/certainty/figure_range.hpp"

namespace ddpsim {

enum class Than { less, greater };

/// What is known of one place of a range. Certain is predicted, predicted is possible.
struct Holds {
  bool predicted = false;
  bool possible = false;  ///< in some scenario
  bool certain = false;   ///< in every scenario
  bool operator==(const Holds&) const = default;
};

/// "figure less than 0.9"
Holds holds(const FigureRange& figure, Than than, double threshold);

/// Places of a range next to each other, both ends included.
struct Stretch {
  std::size_t from = 0;
  std::size_t to = 0;
  bool operator==(const Stretch&) const = default;
};

/// Where it holds, first to last: none, one stretch or, where it comes and goes, several.
struct TippingPoint {
  std::vector<Stretch> predicted;
  std::vector<Stretch> possible;
  std::vector<Stretch> certain;
};

/// Of a range whose every place is known.
TippingPoint tipping_point(std::span<const Holds> places);

/// Places asked at once -> what is known of each; absent where a place has no answer.
using AskPlaces =
    std::function<std::vector<std::optional<Holds>>(std::span<const std::size_t> places)>;

struct SearchedTippingPoint {
  TippingPoint point;
  std::size_t asked = 0;
  std::size_t without_answer = 0;  ///< of those asked: they count as what stands before them
};

/// Of a range of many places: those of `first`, ascending, first place and last among them; then, wherever two neighbours
/// differ, halves between them until they stand next to each other. What comes and goes between two neighbours that are
/// alike is not seen. Absent where no place has an answer.
std::optional<SearchedTippingPoint> search_tipping_point(std::span<const std::size_t> first,
                                                         const AskPlaces& ask);

}  // namespace ddpsim
