// Which points of a tuning curve are shown, and how they are marked.
#include <doctest/doctest.h>

#include "curve_selection.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using Shown = std::vector<std::size_t>;

/// A point whose cap has its own range and whose first bucket has the cap's limit.
CurvePoint point(double cap, double low, double high) {
  CurvePoint point;
  point.bucket_cap_mb = cap;
  point.first_bucket_mb = cap;
  point.cap_range_mb = {low, high};
  return point;
}

CurvePoint default_point() {
  CurvePoint point;
  point.first_bucket_mb = 1;
  return point;
}

/// A curve of caps 1000, 1001, … without round caps and without the default.
TuneResult curve_of(std::size_t points) {
  TuneResult tune;
  tune.default_setting = tune.best = default_point();
  for (std::size_t i = 0; i < points; ++i) {
    const double cap = 1000 + static_cast<double>(i);
    tune.curve.push_back(point(cap, cap, cap + 0.5));
  }
  return tune;
}

}  // namespace

TEST_CASE("curve: a setting is its cap and its first bucket") {
  const CurvePoint a = point(25, 24, 26);
  CurvePoint b = point(25, 20, 30);
  CHECK(same_setting(a, b));
  b.first_bucket_mb = 1;
  CHECK_FALSE(same_setting(a, b));
  b = point(26, 24, 26);
  b.first_bucket_mb = 25;
  CHECK_FALSE(same_setting(a, b));
}

TEST_CASE("curve: a first bucket is set apart if it is neither the cap nor the default's") {
  const TuneResult tune = curve_of(0);
  CurvePoint one = point(25, 24, 26);
  CHECK_FALSE(first_set_apart(one, tune));
  one.first_bucket_mb = 1;
  CHECK_FALSE(first_set_apart(one, tune));
  one.first_bucket_mb = 12.5;
  CHECK(first_set_apart(one, tune));
  one.first_bucket_mb.reset();
  CHECK_FALSE(first_set_apart(one, tune));
}

TEST_CASE(
    "curve: a point is recommended if its range includes the recommended cap, ends included") {
  TuneResult tune = curve_of(0);
  const CurvePoint one = point(60, 60, 64.5);
  tune.recommended.bucket_cap_mb = 62;
  CHECK_FALSE(is_recommended(one, tune));  // nothing to set
  tune.recommended.set = true;
  CHECK(is_recommended(one, tune));
  for (const double end : {60.0, 64.5}) {
    tune.recommended.bucket_cap_mb = end;
    CHECK(is_recommended(one, tune));
  }
  for (const double outside : {59.9, 64.6}) {
    tune.recommended.bucket_cap_mb = outside;
    CHECK_FALSE(is_recommended(one, tune));
  }
  tune.recommended.bucket_cap_mb = 62;
  CurvePoint other = one;
  other.reachable = false;
  CHECK_FALSE(is_recommended(other, tune));
  other = one;
  other.first_bucket_mb = 12.5;  // own limit, not advised
  CHECK_FALSE(is_recommended(other, tune));
  CHECK_FALSE(is_recommended(default_point(), tune));
}

TEST_CASE("curve: a recommended first bucket must be the point's") {
  TuneResult tune = curve_of(0);
  tune.recommended.set = true;
  tune.recommended.first_bucket_mb = 12.5;
  CurvePoint one = default_point();
  CHECK_FALSE(is_recommended(one, tune));
  one.first_bucket_mb = 12.5;
  CHECK(is_recommended(one, tune));  // no cap advised, no cap set
  one.bucket_cap_mb = 60;
  one.cap_range_mb = {60, 64.5};
  CHECK_FALSE(is_recommended(one, tune));
  tune.recommended.bucket_cap_mb = 60;
  CHECK(is_recommended(one, tune));
}

TEST_CASE("curve: of caps with the same buckets the recommended one is shown, else a round one") {
  TuneResult tune = curve_of(0);
  CHECK_FALSE(shown_cap(default_point(), tune));
  CHECK(shown_cap(point(60, 60, 64.5), tune) == 60);
  CHECK(shown_cap(point(26, 24, 26), tune) == 25);
  CHECK(shown_cap(point(150, 20, 150), tune) == 25);
  CHECK(shown_cap(point(150, 30, 150), tune) == 50);
  CHECK(shown_cap(point(150, 60, 150), tune) == 100);
  CHECK(shown_cap(point(12, 4, 12), tune) == 10);
  CHECK(shown_cap(point(8, 0, 8), tune) == 1);
  CHECK(shown_cap(point(8, 4, 8), tune) == 5);
  CHECK(shown_cap(point(300, 150, 300), tune) == 200);
  tune.recommended.set = true;
  tune.recommended.bucket_cap_mb = 24.5;
  CHECK(shown_cap(point(26, 24, 26), tune) == 24.5);
  CHECK(shown_cap(point(150, 30, 150), tune) == 50);
  tune.only_caps_asked = true;
  CHECK(shown_cap(point(26, 24, 26), tune) == 26);
}

TEST_CASE("curve: caps that were asked for are all shown, in their order") {
  TuneResult tune = curve_of(20);
  tune.only_caps_asked = true;
  const Shown shown = representative_points(tune);
  REQUIRE(shown.size() == 20);
  CHECK(shown.front() == 0);
  CHECK(shown.back() == 19);
}

TEST_CASE("curve: without marked or round caps both ends and four points between them are shown") {
  // The points divide 100 steps into fifths.
  CHECK(representative_points(curve_of(101)) == Shown{0, 20, 40, 60, 80, 100});
  CHECK(representative_points(curve_of(1)) == Shown{0});
  CHECK(representative_points(curve_of(0)).empty());
}

TEST_CASE("curve: default, best and recommended are each shown once, sorted by cap") {
  TuneResult tune = curve_of(101);
  tune.curve.push_back(tune.default_setting);
  tune.best = tune.curve[33];
  tune.recommended.set = true;
  tune.recommended.bucket_cap_mb = 1077.25;
  CHECK(representative_points(tune) == Shown{101, 0, 20, 33, 40, 60, 77, 80, 100});
  tune.recommended.bucket_cap_mb = 1033.5;  // same as the best
  CHECK(representative_points(tune) == Shown{101, 0, 20, 33, 40, 60, 80, 100});
  tune.recommended.bucket_cap_mb = 1033.75;  // in no range
  CHECK(representative_points(tune) == Shown{101, 0, 20, 33, 40, 60, 80, 100});
}

TEST_CASE(
    "curve: points that cannot be set are never shown, those with their own first bucket only if "
    "marked") {
  TuneResult tune = curve_of(11);
  tune.curve[0].reachable = false;
  tune.curve[10].first_bucket_mb = 12.5;
  // Caps 1 to 9 are left. Fifths of eight steps, rounded down, are 1, 3, 4 and 6.
  CHECK(representative_points(tune) == Shown{1, 2, 4, 5, 7, 9});
  tune.best = tune.curve[10];
  CHECK(representative_points(tune) == Shown{1, 2, 4, 5, 7, 9, 10});
}

TEST_CASE("curve: round caps are shown, but at most fifteen points") {
  TuneResult tune = curve_of(101);
  for (const double cap : {1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0})
    tune.curve.push_back(point(cap + 0.25, cap, cap + 0.5));
  CurvePoint apart = point(25.25, 25, 25.5);
  apart.first_bucket_mb = 12.5;
  tune.curve.insert(tune.curve.begin(), apart);
  tune.curve.push_back(tune.default_setting);  // index 109
  // There are 108 ordinary points from index 1 to 108. Fifths of 107 steps are 21, 42, 64 and 85.
  CHECK(representative_points(tune) ==
        Shown{109, 102, 103, 104, 105, 106, 107, 108, 1, 22, 43, 65, 86});
  // With the best, the recommended and another end there would be sixteen, so index 87 is left out.
  tune.best = tune.curve[3];
  tune.recommended.set = true;
  tune.recommended.bucket_cap_mb = 1003;  // index 4
  tune.curve.push_back(point(2000, 2000, 2001));
  CHECK(representative_points(tune) ==
        Shown{109, 102, 103, 104, 105, 106, 107, 108, 1, 3, 4, 22, 44, 65, 110});
}
