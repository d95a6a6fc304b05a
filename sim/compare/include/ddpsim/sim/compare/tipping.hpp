// Finds where along a range a condition holds: as predicted, in some scenario, and in every
// scenario.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ddpsim/sim/certainty/figure_range.hpp"

namespace ddpsim {

enum class Than { less, greater };

/// Whether a condition holds at one value of a range. Certain implies predicted; predicted implies
/// possible.
struct Holds {
  bool predicted = false;
  bool possible = false;  ///< in some scenario
  bool certain = false;   ///< in every scenario
  bool operator==(const Holds&) const = default;
};

/// "figure less than 0.9"
Holds holds(const FigureRange& figure, Than than, double threshold);

/// Consecutive values of a range, by index, both ends included. The code calls the index of a value
/// its place.
struct PlaceInterval {
  std::size_t from = 0;
  std::size_t to = 0;
  bool operator==(const PlaceInterval&) const = default;
};

/// The intervals of a range in which a condition holds, first to last. There may be none, one or,
/// if the condition comes and goes, several.
struct TippingPoint {
  std::vector<PlaceInterval> predicted;
  std::vector<PlaceInterval> possible;
  std::vector<PlaceInterval> certain;
};

/// For a range in which every place is known.
TippingPoint tipping_point(std::span<const Holds> places);

/// Answers several places at once; an answer is absent if the place has none.
using AskPlaces =
    std::function<std::vector<std::optional<Holds>>(std::span<const std::size_t> places)>;

struct SearchedTippingPoint {
  TippingPoint point;
  std::size_t asked = 0;
  /// How many of the asked places had no answer; they count as the place before them.
  std::size_t without_answer = 0;
};

/// Searches a range of many places. Asks those in `first`, which ascend and include the first and
/// the last place. Wherever two neighbours differ, bisects until they are adjacent. A condition
/// that comes and goes between two equal neighbours is not seen. Absent if no place has an answer.
std::optional<SearchedTippingPoint> search_tipping_point(std::span<const std::size_t> first,
                                                         const AskPlaces& ask);

}  // namespace ddpsim
