// How well measurements repeat: four in five lie within 1.28 of what `repeats_of` says, by size.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "fit_parts.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// A point whose in-place time differs from the other by this much of its logarithm.
MeasuredPoint apart(Bytes size, double logarithm) {
  return {.size = size, .time_us = 100, .in_place_us = 100 * std::exp(logarithm), .place = {}};
}

MeasuredPoint out_of_place(Bytes size, double us) {
  return {.size = size, .time_us = us, .in_place_us = {}, .place = {}};
}

Part part(Scale scale, const std::vector<MeasuredPoint>& points) {
  return {.log = nullptr, .scale = scale, .cluster = {}, .tuning = {}, .points = points};
}

}  // namespace

TEST_CASE("calibrate: repeats lie apart by the 80th percentile of a log's sizes") {
  std::vector<MeasuredPoint> points;
  for (int k = 0; k <= 10; ++k)  // 0 to 10 %, now longer, now shorter
    points.push_back(apart(Bytes(8 + k), k % 2 == 0 ? 0.01 * k : -0.01 * k));
  const SizeSpread repeats = repeats_of({part({2, 8}, points)});
  CHECK(repeats.small == doctest::Approx(0.08 / 1.28));
  CHECK(repeats.middle == 0);
  CHECK(repeats.large == 0);
}

TEST_CASE("calibrate: repeats are told apart below 64 KiB, below 1 MiB and from there on") {
  const SizeSpread repeats =
      repeats_of({part({2, 8}, {apart(64_KiB - 1_B, 0.01), apart(64_KiB, 0.02),
                                apart(1_MiB - 1_B, 0.02), apart(1_MiB, 0.03)})});
  CHECK(repeats.small == doctest::Approx(0.01 / 1.28));
  CHECK(repeats.middle == doctest::Approx(0.02 / 1.28));
  CHECK(repeats.large == doctest::Approx(0.03 / 1.28));
}

TEST_CASE("calibrate: logs of one scale lie either side of their mean; the wider decides") {
  const Part first = part({2, 8}, {out_of_place(1_MiB, 100), out_of_place(2_MiB, 100)});
  const Part second = part({2, 8}, {out_of_place(1_MiB, 100 * std::exp(-0.4))});
  CHECK(repeats_of({first, second}).large == doctest::Approx(0.2 / 1.28));
  CHECK(repeats_of({first, part({4, 8}, second.points)}).large == 0);
  CHECK(repeats_of({first, second, part({4, 8}, {apart(1_MiB, 0.1)})}).large ==
        doctest::Approx(0.2 / 1.28));
  CHECK(repeats_of({first, second, part({4, 8}, {apart(1_MiB, 0.3)})}).large ==
        doctest::Approx(0.3 / 1.28));
  CHECK(repeats_of({first}).large == 0);
}
