// Axes: where values stand, and what is written beside them.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "scale.hpp"
#include "ticks.hpp"

namespace ddpsim::plot {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> labels_of(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

Extent extent_of(ScaleKind kind, const std::vector<double>& values) {
  Extent extent(kind);
  for (const double value : values) extent.add(value);
  return extent;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("plot ticks: 1, 2 or 5 times a power of ten apart, no more than asked for") {
  CHECK(labels_of(round_ticks(0, 10, 6)) == Labels{"0", "2", "4", "6", "8", "10"});
  CHECK(labels_of(round_ticks(97.3, 100.2, 7)) ==
        Labels{"97.5", "98.0", "98.5", "99.0", "99.5", "100.0"});
  CHECK(labels_of(round_ticks(-1, 1, 5)) == Labels{"\u22121.0", "\u22120.5", "0.0", "0.5", "1.0"});
  CHECK(labels_of(round_ticks(0, 50'000, 6)) ==
        Labels{"0", "10\u2009000", "20\u2009000", "30\u2009000", "40\u2009000", "50\u2009000"});
  for (const double high : {1e-9, 0.3, 1.0, 7.0, 99.0, 12345.0, 1e15})
    for (const int most : {2, 5, 9}) {
      const auto ticks = round_ticks(0, high, most);
      CHECK(ticks.size() <= static_cast<std::size_t>(most));
      CHECK(!ticks.empty());
    }
}

TEST_CASE("plot ticks: a length of nothing has one tick, not an endless search") {
  CHECK(round_ticks(3, 3, 5).size() == 1);
}

TEST_CASE(
    "plot ticks: decades, with 2 and 5 where they would be few, thinned where they are many") {
  CHECK(labels_of(decade_ticks(1, 1000, 9)) == Labels{"1", "10", "100", "1000"});
  CHECK(labels_of(decade_ticks(2000, 60'000, 9)) ==
        Labels{"2\u2009000", "5\u2009000", "10\u2009000", "20\u2009000", "50\u2009000"});
  CHECK(labels_of(decade_ticks(0.01, 1, 9)) == Labels{"0.01", "0.1", "1"});
  CHECK(labels_of(decade_ticks(1, 1e6, 4)) ==
        Labels{"1", "", "100", "", "10\u2009000", "", "1\u2009000\u2009000"});
  CHECK(labels_of(decade_ticks(1e-6, 1e-3, 9)) == Labels{"0.000001", "0.00001", "0.0001", "0.001"});
  // Fewer than three of 1, 2 and 5: as on a linear axis.
  CHECK(labels_of(decade_ticks(11, 14, 5)) == Labels{"11", "12", "13", "14"});
}

TEST_CASE("plot ticks: one axis writes all its numbers in one way") {
  for (const double high : {1e5, 1e6, 1e8, 3e11})
    for (const Tick& tick : decade_ticks(high / 1e4, high, 9))
      CHECK_MESSAGE(tick.label.find('e') == std::string::npos, tick.label);
  for (const Tick& tick : round_ticks(0, 12'000, 7))
    CHECK((tick.value < 1000 || tick.label.find("\u2009000") != std::string::npos));
}

TEST_CASE("plot ticks: doublings keep 1 in their sequence") {
  const auto label = [](double value) { return tick_label(value, 0); };
  CHECK(labels_of(doubling_ticks(1, 64, 9, label)) == Labels{"1", "2", "4", "8", "16", "32", "64"});
  CHECK(labels_of(doubling_ticks(2, 64, 3, label)) == Labels{"4", "16", "64"});
  CHECK(labels_of(doubling_ticks(5, 7, 9, label)) == labels_of(round_ticks(5, 7, 9)));
}

TEST_CASE("plot scale: ends, middle, and nothing far outside") {
  const Scale linear(ScaleKind::linear, 10, 20);
  CHECK(linear.share(10) == 0);
  CHECK(linear.share(15) == 0.5);
  CHECK(linear.share(1e9) == 2);
  CHECK(linear.share(-1e9) == -1);
  const Scale logarithmic(ScaleKind::logarithmic, 1, 100);
  CHECK(logarithmic.share(10) == doctest::Approx(0.5));
  CHECK(logarithmic.value_at(0.5) == doctest::Approx(10));
  CHECK(logarithmic.widened(0.5, 0.5).low() == doctest::Approx(0.1));
  CHECK(linear.widened(0.1, 0.2).high() == doctest::Approx(22));
}

TEST_CASE("plot scale: values without a place on an axis do not change it") {
  const Extent extent = extent_of(ScaleKind::logarithmic, {kNan, 0, -3, kInfinity, 8, 2});
  CHECK(*extent.ends() == std::pair(2.0, 8.0));
  const Scale scale(ScaleKind::logarithmic, extent);
  for (const double value : {kNan, 0.0, -1.0, kInfinity}) CHECK_FALSE(scale.draws(value));
  CHECK(scale.covers(8));
  CHECK_FALSE(scale.covers(8.1));
  CHECK_FALSE(Scale(ScaleKind::linear, 0, 1).draws(kNan));
  CHECK(Scale(ScaleKind::linear, 0, 1).draws(-5));
}

TEST_CASE("plot scale: one value has room around it, none a usual axis") {
  const Scale one(ScaleKind::linear, extent_of(ScaleKind::linear, {50}));
  CHECK(one.low() < 50);
  CHECK(one.high() > 50);
  const Scale ratio(ScaleKind::logarithmic, extent_of(ScaleKind::logarithmic, {8}));
  CHECK(ratio.share(8) == doctest::Approx(0.5));
  const Scale zero(ScaleKind::linear, extent_of(ScaleKind::linear, {0}));
  CHECK(zero.low() == 0);
  CHECK(zero.high() == 1);
  // Two values that differ by rounding are one.
  const Scale close(ScaleKind::linear, extent_of(ScaleKind::linear, {1, 1 + 1e-15}));
  CHECK(close.high() - close.low() > 0.1);
  const Scale none(ScaleKind::linear, Extent(ScaleKind::linear));
  CHECK(none.high() > none.low());
}

TEST_CASE("plot scale: round ends reach as far as the next tick, no farther") {
  const Scale scale = to_round_ends({ScaleKind::linear, 0, 181}, 7);
  CHECK(scale.high() == 200);
  CHECK(to_round_ends({ScaleKind::linear, 0, 200}, 7).high() == 200);
  CHECK(to_round_ends({ScaleKind::logarithmic, 3, 181}, 7).high() == 181);
}

}  // namespace ddpsim::plot
