// Where along a range a condition holds.
#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "ddpsim/sim/compare/tipping.hpp"

using namespace ddpsim;

namespace {

const std::vector<FigureRange> kFalling = {
    {0.90, 0.95, 0.99}, {0.85, 0.92, 0.97}, {0.80, 0.88, 0.93}, {0.70, 0.80, 0.88}};

TippingPoint point_along(const std::vector<FigureRange>& figures, Than than, double threshold) {
  std::vector<Holds> places;
  for (const FigureRange& figure : figures) places.push_back(holds(figure, than, threshold));
  return tipping_point(places);
}

using Intervals = std::vector<PlaceInterval>;

/// Places 0 to `last`, of which every `each`-th is asked first.
std::vector<std::size_t> every(std::size_t each, std::size_t last) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < last; place += each) places.push_back(place);
  places.push_back(last);
  return places;
}

constexpr Holds kAlways{true, true, true};

}  // namespace

TEST_CASE("tipping point: as predicted, as it may be, in any case") {
  const TippingPoint point = point_along(kFalling, Than::less, 0.9);
  CHECK(point.predicted == Intervals{{2, 3}});
  CHECK(point.possible == Intervals{{1, 3}});
  CHECK(point.certain == Intervals{{3, 3}});
  const TippingPoint rising = point_along(kFalling, Than::greater, 0.9);
  CHECK(rising.predicted == Intervals{{0, 1}});
  CHECK(rising.possible == Intervals{{0, 2}});
  CHECK(rising.certain.empty());  // 0.9 is not above 0.9
}

TEST_CASE("tipping point: absent if nothing reaches it, and for an empty range") {
  const TippingPoint point = point_along(kFalling, Than::less, 0.79);
  CHECK(point.predicted.empty());
  CHECK(point.possible == Intervals{{3, 3}});
  CHECK(point.certain.empty());
  CHECK(point_along(kFalling, Than::less, 0.5).possible.empty());
  CHECK(point_along({}, Than::less, 0.5).predicted.empty());
}

TEST_CASE("tipping point: a condition that comes and goes gives several intervals") {
  const auto at = [](double figure) { return FigureRange{figure - 1, figure, figure + 1}; };
  const TippingPoint point = point_along({at(5), at(9), at(4), at(4.5), at(9)}, Than::less, 5);
  CHECK(point.predicted == Intervals{{2, 3}});
  CHECK(point.possible == Intervals{{0, 0}, {2, 3}});
  CHECK(point.certain.empty());
}

TEST_CASE("tipping point: a search finds each end exactly and asks few places") {
  const auto ask = [](std::span<const std::size_t> places) {
    std::vector<std::optional<Holds>> found;
    for (const std::size_t place : places) {
      const bool predicted = place >= 337 && place < 700;
      found.emplace_back(Holds{predicted, predicted || place > 300, predicted && place > 400});
    }
    return found;
  };
  const auto found = search_tipping_point(every(100, 1000), ask);
  REQUIRE(found);
  CHECK(found->point.predicted == Intervals{{337, 699}});
  CHECK(found->point.possible == Intervals{{301, 1000}});
  CHECK(found->point.certain == Intervals{{401, 699}});
  CHECK(found->asked < 11 + 4 * 8);
  CHECK(found->without_answer == 0);
}

TEST_CASE("tipping point: places without an answer are skipped") {
  const auto ask = [](std::span<const std::size_t> places) {
    std::vector<std::optional<Holds>> found;
    for (const std::size_t place : places)
      found.push_back(place % 2 == 1 ? std::nullopt
                                     : std::optional(place >= 42 ? kAlways : Holds{}));
    return found;
  };
  const auto found = search_tipping_point(every(10, 100), ask);
  REQUIRE(found);
  CHECK(found->point.predicted == Intervals{{42, 100}});
  CHECK(found->without_answer > 0);
  const auto none = [](std::span<const std::size_t> places) {
    return std::vector<std::optional<Holds>>(places.size());
  };
  CHECK_FALSE(search_tipping_point(every(10, 100), none));
}

TEST_CASE("tipping point: a range is scaled as a whole") {
  const FigureRange twice = FigureRange{1, 2, 3}.times(2);
  CHECK(twice.low == 2);
  CHECK(twice.value == 4);
  CHECK(twice.high == 6);
}
