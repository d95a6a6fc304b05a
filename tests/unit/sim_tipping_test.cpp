// From which of several growing candidates on a condition holds.
#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "ddpsim/sim/tipping.hpp"

using namespace ddpsim;

namespace {

const std::vector<FigureRange> kFalling = {
    {0.90, 0.95, 0.99}, {0.85, 0.92, 0.97}, {0.80, 0.88, 0.93}, {0.70, 0.80, 0.88}};

}  // namespace

TEST_CASE("tipping point: as predicted, at the earliest, at the latest") {
  const TippingPoint point = tipping_point(kFalling, Than::less, 0.9);
  CHECK(point.predicted == 2);
  CHECK(point.earliest == 1);
  CHECK(point.latest == 3);
  const TippingPoint rising = tipping_point(kFalling, Than::greater, 0.9);
  CHECK(rising.predicted == 0);
  CHECK(rising.earliest == 0);
  CHECK_FALSE(rising.latest);  // 0.9 is not above 0.9
}

TEST_CASE("tipping point: none where nothing reaches it, nor of nothing") {
  const TippingPoint point = tipping_point(kFalling, Than::less, 0.79);
  CHECK_FALSE(point.predicted);
  CHECK(point.earliest == 3);
  CHECK_FALSE(point.latest);
  CHECK_FALSE(tipping_point(kFalling, Than::less, 0.5).earliest);
  CHECK_FALSE(tipping_point({}, Than::less, 0.5).predicted);
}

TEST_CASE("tipping point: a range is scaled whole") {
  const FigureRange twice = FigureRange{1, 2, 3}.times(2);
  CHECK(twice.low == 2);
  CHECK(twice.value == 4);
  CHECK(twice.high == 6);
}
