// Medians, quantiles and spreads of samples small enough to count: odd and even lengths, and the
// rank at which one more value counts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/validate/validation.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "fit_parts.hpp"
#include "fitted_constants.hpp"

using namespace ddpsim;

namespace {

Figures figures(const std::vector<double>& us) {
  Figures out;
  out.source = "a";
  for (std::size_t k = 0; k < us.size(); ++k)
    out.rows.push_back(
        {.name = fmt::format("f{}", k), .us = us[k], .low_us = {}, .high_us = {}, .place = ""});
  return out;
}

/// Predictions off by 1 % to n %, the largest first, every other one too low.
Validation of_errors(int n) {
  std::vector<double> predicted;
  for (int k = n; k >= 1; --k) predicted.push_back(k % 2 == 0 ? 100 + k : 100 - k);
  return validate(figures(predicted), figures(std::vector<double>(predicted.size(), 100)));
}

FitResidual residual(double calibrated_us, double modelled_us, std::int64_t size = 1) {
  return {.log = 0,
          .shape = {},
          .size = Bytes(size),
          .choice = {},
          .measured_us = 100,
          .modelled_us = modelled_us,
          .calibrated_us = calibrated_us};
}

MeasuredPoint point(std::int64_t size, double time_us, std::optional<double> in_place_us = {}) {
  return {.size = Bytes(size), .time_us = time_us, .in_place_us = in_place_us, .place = ""};
}

Part part(JobShape shape, std::vector<MeasuredPoint> points) {
  return {.log = nullptr,
          .shape = shape,
          .cluster = {},
          .tuning = {},
          .points = std::move(points),
          .faults = {}};
}

}  // namespace

TEST_CASE("validation: median, p90 by nearest rank and worst of 1 to n percent") {
  struct Known {
    int n;
    double median, p90;
  };
  // p90 is the smallest value that 90 % do not exceed, so number ceil(0.9 n).
  for (const Known& row :
       {Known{1, 1, 1}, Known{2, 1.5, 2}, Known{5, 3, 5}, Known{9, 5, 9}, Known{10, 5.5, 9},
        Known{11, 6, 10}, Known{19, 10, 18}, Known{20, 10.5, 18}, Known{21, 11, 19}}) {
    CAPTURE(row.n);
    const Validation found = of_errors(row.n);
    CHECK(found.median_abs_error_percent == doctest::Approx(row.median));
    CHECK(found.p90_abs_error_percent == doctest::Approx(row.p90));
    CHECK(found.worst_abs_error_percent == doctest::Approx(row.n));
    CHECK(found.worst_name == "f0");
  }
  const Validation three = of_errors(3);
  CHECK(three.rows[0].error_percent == doctest::Approx(-3));
  CHECK(three.rows[1].error_percent == doctest::Approx(2));
  CHECK(three.rows[2].error_percent == doctest::Approx(-1));
  CHECK(three.rows[0].measured == 100);
  CHECK(three.rows[0].predicted == 97);
}

TEST_CASE("validation: errors count from the measured value, repeats of either side merged") {
  CHECK(validate(figures({150}), figures({100})).rows[0].error_percent == doctest::Approx(50));
  CHECK(validate(figures({100}), figures({150})).rows[0].error_percent ==
        doctest::Approx(-100.0 / 3));
  Figures twice = figures({90, 10});
  twice.rows[1].name = "f0";  // 90 and 10: 50
  CHECK(validate(twice, figures({40})).rows[0].predicted == 50);
  CHECK(validate(figures({40}), twice).rows[0].measured == 50);
}

TEST_CASE("validation: an interval holds its ends") {
  const auto within = [](double measured) {
    Figures predicted = figures({100});
    predicted.rows[0].low_us = 90;
    predicted.rows[0].high_us = 120;
    const Validation found = validate(predicted, figures({measured}));
    CHECK(found.intervals == 1);
    CHECK(found.within_intervals == (*found.rows[0].within_interval ? 1 : 0));
    return *found.rows[0].within_interval;
  };
  CHECK(within(90));
  CHECK(within(120));
  CHECK_FALSE(within(89.99));
  CHECK_FALSE(within(120.01));
  Figures half = figures({100});
  half.rows[0].low_us = 90;  // no interval without both ends
  CHECK_FALSE(validate(half, figures({100})).rows[0].within_interval.has_value());
}

TEST_CASE("validation: a median error of a factor of 100 means another unit") {
  const auto refused = [](const std::vector<double>& predicted) {
    try {
      validate(figures(predicted), figures(std::vector<double>(predicted.size(), 1)));
    } catch (const InputError&) {
      return true;
    }
    return false;
  };
  CHECK_FALSE(refused({99.9}));
  CHECK(refused({100}));
  CHECK_FALSE(refused({0.0101}));
  CHECK(refused({0.01}));
  CHECK_FALSE(refused({1000, 1, 1}));  // one figure of three
  CHECK(refused({1000, 1000, 1}));
}

TEST_CASE("fit errors: median and 90th percentile from a size on, of fit or cost model") {
  // Errors of 1 to n percent in the calibrated times, and ten times that in the cost model's.
  const auto errors = [](int n, bool model_alone = false) {
    std::vector<FitResidual> rows = {residual(900, 900, 7)};  // too small to count
    for (int k = n; k >= 1; --k)
      rows.push_back(residual(k % 2 == 0 ? 100 + k : 100 - k, 100 + 10 * k, 8));
    return errors_of(rows, Bytes(8), model_alone);
  };
  // The 90th percentile of n is number ceil(0.9 n).
  CHECK(errors(1).median == doctest::Approx(0.01));
  CHECK(errors(1).sizes == 1);
  CHECK(errors(5).median == doctest::Approx(0.03));
  CHECK(errors(5).p90 == doctest::Approx(0.05));
  CHECK(errors(6).median == doctest::Approx(0.035));  // of the middle two
  CHECK(errors(6).p90 == doctest::Approx(0.06));
  CHECK(errors(10).p90 == doctest::Approx(0.09));
  CHECK(errors(11).median == doctest::Approx(0.06));
  CHECK(errors(11).p90 == doctest::Approx(0.10));  // 9.9: the last but one
  CHECK(errors(11).sizes == 11);
  CHECK(errors(11, true).median == doctest::Approx(0.6));
  CHECK(errors(11, true).p90 == doctest::Approx(1.0));
  const FitErrors none = errors_of({}, Bytes(1));
  CHECK(none.sizes == 0);
  CHECK(none.median == 0);
}

TEST_CASE("repeats: 80 % lie within 1.28 deviations, in place against out of place") {
  // Ratios of e^0.128, e^0.256, … for n sizes from 1 KiB on; number ceil(0.8 n) counts.
  const auto small = [](int n) {
    std::vector<MeasuredPoint> points;
    for (int k = 1; k <= n; ++k)
      points.push_back(point(1024 + k, 100, 100 * std::exp(k % 2 == 0 ? 0.128 * k : -0.128 * k)));
    return repeatability_of({part({1, 2}, points)}).small;
  };
  CHECK(small(1) == doctest::Approx(0.1));
  CHECK(small(2) == doctest::Approx(0.2));  // 1.6: the second
  CHECK(small(3) == doctest::Approx(0.3));  // 2.4
  CHECK(small(5) == doctest::Approx(0.4));  // 4
  CHECK(small(6) == doctest::Approx(0.5));  // 4.8
  CHECK(repeatability_of({part({1, 2}, {point(1024, 100)})}).small == 0);
}

TEST_CASE("repeats: below 64 KiB, below 1 MiB and above, the wider of two kinds") {
  const double apart = std::exp(0.128);
  const SizeSpread spread = repeatability_of(
      {part({1, 2}, {point(65'535, 100, 100 * apart), point(65'536, 100, 100 * apart * apart),
                     point(1'048'575, 100, 100 * apart * apart),
                     point(1'048'576, 100, 100 * std::pow(apart, 3))})});
  CHECK(spread.small == doctest::Approx(0.1));
  CHECK(spread.middle == doctest::Approx(0.2));
  CHECK(spread.large == doctest::Approx(0.3));
  // Two logs of one shape each lie half their distance from their mean.
  const auto two = [&](JobShape other) {
    return repeatability_of({part({1, 2}, {point(1024, 100, 100 * apart)}),
                             part(other, {point(1024, 100 * std::pow(apart, 4)), point(2048, 1)})})
        .small;
  };
  CHECK(two({1, 2}) == doctest::Approx(0.2));
  CHECK(two({2, 1}) == doctest::Approx(0.1));  // another shape is no repeat
}

TEST_CASE("fitted constants: each step changes only its own constant, within its limits") {
  PathConstants prior;
  double value = 0.11;  // a different value each, below every limit
  for (const CostConstant& row : fitted_constants()) row.of(prior) = value += 0.01;
  prior.overlap = 1.5;
  const std::size_t count = fitted_constants().size();
  for (std::size_t i = 0; i < count; ++i) {
    const CostConstant& row = fitted_constants()[i];
    CAPTURE(std::string(row.name) + std::string(row.element));
    std::vector<double> steps(count, 0);
    steps[i] = 0.25;
    PathConstants stepped = constants_at(prior, steps);
    for (std::size_t j = 0; j < count; ++j) {
      const CostConstant& other = fitted_constants()[j];
      // Constants that the uncalibrated cost model lacks start at the values found for clusters.
      const double from = other.prior.expected > 0 ? other.prior.expected : other.of(prior);
      const double step = j == i ? 0.25 : 0;
      const double expected = other.prior.additive ? from + step : from * std::exp(step);
      CHECK(other.of(stepped) == doctest::Approx(expected));
    }
    steps[i] = 9;
    stepped = constants_at(prior, steps);
    if (std::isfinite(row.prior.most)) CHECK(row.of(stepped) == row.prior.most);
    steps[i] = -9;
    stepped = constants_at(prior, steps);
    if (row.range.least > 0) CHECK(row.of(stepped) == row.range.least);
  }
}

TEST_CASE("fitted constants: one beyond its limit before a fit may stay but not grow") {
  PathConstants prior;
  prior.local_share = 0.99;  // the limit is 0.97
  std::vector<double> steps(fitted_constants().size(), 0);
  CHECK(constants_at(prior, steps).local_share == 0.99);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (fitted_constants()[i].name == "local_share") steps[i] = 0.5;
  CHECK(constants_at(prior, steps).local_share == 0.99);
}
