#include "ddpsim/sim/compare/tipping.hpp"

#include <map>

namespace ddpsim {
namespace {

struct Known {
  std::size_t place;
  Holds holds;
};

/// Each entry of `known` is valid up to the place of the next one, the last up to its own place.
std::vector<PlaceInterval> intervals(std::span<const Known> known, bool Holds::*how) {
  std::vector<PlaceInterval> all;
  bool open = false;
  for (std::size_t k = 0; k < known.size(); ++k) {
    const std::size_t end = k + 1 < known.size() ? known[k + 1].place - 1 : known[k].place;
    if (known[k].holds.*how && open)
      all.back().to = end;
    else if (known[k].holds.*how)
      all.push_back({known[k].place, end});
    open = known[k].holds.*how;
  }
  return all;
}

TippingPoint point_of(std::span<const Known> known) {
  return {.predicted = intervals(known, &Holds::predicted),
          .possible = intervals(known, &Holds::possible),
          .certain = intervals(known, &Holds::certain)};
}

using Answers = std::map<std::size_t, std::optional<Holds>>;

/// The middle place, or the nearest to it that was not asked yet. Places without an answer are not
/// asked again.
std::optional<std::size_t> not_asked_between(std::size_t before, std::size_t after,
                                             const Answers& answers) {
  const std::size_t middle = before + (after - before) / 2;
  for (std::size_t place = middle; place > before; --place)
    if (!answers.contains(place)) return place;
  for (std::size_t place = middle + 1; place < after; ++place)
    if (!answers.contains(place)) return place;
  return std::nullopt;
}

}  // namespace

Holds holds(const FigureRange& figure, Than than, double threshold) {
  const auto is = [&](double value) {
    return than == Than::less ? value < threshold : value > threshold;
  };
  const bool less = than == Than::less;
  return {.predicted = is(figure.value),
          .possible = is(less ? figure.low : figure.high),
          .certain = is(less ? figure.high : figure.low)};
}

TippingPoint tipping_point(std::span<const Holds> places) {
  std::vector<Known> known;
  for (std::size_t place = 0; place < places.size(); ++place)
    known.push_back({place, places[place]});
  return point_of(known);
}

std::optional<SearchedTippingPoint> search_tipping_point(std::span<const std::size_t> first,
                                                         const AskPlaces& ask) {
  Answers answers;
  std::vector<std::size_t> next(first.begin(), first.end());
  while (!next.empty()) {
    const std::vector<std::optional<Holds>> found = ask(next);
    for (std::size_t k = 0; k < next.size(); ++k) answers[next[k]] = found[k];
    next.clear();
    std::optional<Known> before;
    for (const auto& [place, answer] : answers) {
      if (!answer) continue;
      if (before && before->holds != *answer)
        if (const auto half = not_asked_between(before->place, place, answers))
          next.push_back(*half);
      before = Known{place, *answer};
    }
  }
  std::vector<Known> known;
  for (const auto& [place, answer] : answers)
    if (answer) known.push_back({place, *answer});
  if (known.empty()) return std::nullopt;
  return SearchedTippingPoint{.point = point_of(known),
                              .asked = answers.size(),
                              .without_answer = answers.size() - known.size()};
}

}  // namespace ddpsim
