// A fit at its limits: how wide intervals and misfits are, which logs take part, and which
// contradict each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cost_model_logs.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/fit/shapes_left_out.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "fit_parts.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::cost_model_logs;

TEST_CASE("calibrate: a constant's interval is symmetric in its logarithm") {
  const Fit found = fit({measured({1, 4}), measured({2, 4})});
  CHECK(found.constants.size() >= 5);
  for (const FittedConstant& constant : found.constants) {
    const std::string_view name = constant.constant->name;
    CAPTURE(std::string(name));
    if (name == "hop_growth") {
      CHECK(constant.high - constant.value == doctest::Approx(constant.value - constant.low));
    } else if (name == "launch_us" || name == "hop_us") {  // nothing limits them
      CHECK(constant.high / constant.value == doctest::Approx(constant.value / constant.low));
    }
    if (name.ends_with("_share")) CHECK(constant.high <= 1);
  }
  const auto launch = std::find_if(
      found.constants.begin(), found.constants.end(),
      [](const FittedConstant& fitted) { return fitted.constant->name == "launch_us"; });
  REQUIRE(launch != found.constants.end());
  CHECK(launch->before == constants_of(cluster_at({1, 4})).launch_us);
  CHECK(launch->value == found.calibration.constants.launch_us);
}

TEST_CASE("calibrate: two thirds of the sizes of a class lie within its misfit") {
  // Every third size takes 1.4 times as long, which the cost model does not know.
  MeasuredLog log = measured({2, 4});
  for (std::size_t k = 0; k < log.points.size(); ++k)
    log.points[k].time_us *= k % 3 == 0 ? 1.4 : k % 3 == 1 ? 0.85 : 1.1;
  const Fit found = fit({log});
  const auto within = [&](Bytes from, Bytes to, double misfit) {
    std::size_t all = 0;
    std::size_t held = 0;
    for (const FitResidual& row : found.residuals) {
      if (row.size < from || row.size >= to) continue;
      ++all;
      if (std::abs(std::log(row.measured_us / row.modelled_us)) <= misfit * (1 + 1e-9)) ++held;
    }
    return std::pair(held, all);
  };
  using Count = std::pair<std::size_t, std::size_t>;
  const SizeSpread& misfit = found.calibration.residual_deviation;
  // With n values, the rank 0.68 (n - 1), rounded, counts. That is the ninth of 13 sizes up to
  // 32 KiB, the third of four, and the eighth of 11 sizes from 1 MiB.
  CHECK(within(Bytes(1), Bytes(1 << 16), misfit.small) == Count(9, 13));
  CHECK(within(Bytes(1 << 16), Bytes(1 << 20), misfit.middle) == Count(3, 4));
  CHECK(within(Bytes(1 << 20), Bytes::max(), misfit.large) == Count(8, 11));
}

TEST_CASE("calibrate: four sizes are enough, and residuals name log, job shape and size") {
  MeasuredLog four = measured({2, 4});
  four.points = {four.points[5], four.points[10], four.points[18], four.points[24]};
  const Fit found = fit({measured({1, 4}), four});
  REQUIRE(found.used == std::vector<std::string>{"n1.txt", "n2.txt"});
  REQUIRE(found.residuals.size() == 28 + 4);
  const FitResidual& last = found.residuals.back();
  CHECK(last.log == 1);
  CHECK(last.shape == JobShape{2, 4});
  CHECK(last.size == four.points.back().size);
  CHECK(last.measured_us == doctest::Approx(four.points.back().time_us));
  CHECK(found.calibration.shapes[1].smallest == four.points.front().size);
  CHECK(found.calibration.shapes[1].largest == four.points.back().size);
  CHECK(found.calibration.shapes[1].nodes == 2);
  CHECK(found.calibration.shapes[1].gpus_per_node == 4);
}

TEST_CASE(
    "calibrate: logs of one job shape that differ by 10 % are noted, by a factor of two "
    "refused") {
  const auto noted = [](double factor) {
    Fit out;
    parts_of({measured({2, 4}), measured({2, 4}, factor)}, cluster_at,
             {.nccl = kNccl, .keep_unhealthy = true}, out);
    return std::any_of(out.notes.begin(), out.notes.end(), [](const std::string& note) {
      return mentions(note, "Intervals span both");
    });
  };
  CHECK_FALSE(noted(1.1));  // a logarithm of 0.095
  CHECK(noted(1.11));
  CHECK(noted(0.9));
  CHECK(noted(1.99));
  CHECK_THROWS_AS(noted(2.01), InputError);
  CHECK_THROWS_AS(noted(0.49), InputError);
}

TEST_CASE("calibrate: one GPU and logs without times are left out, rows of one size become one") {
  Fit out;
  MeasuredLog lone = measured({1, 4});
  lone.nodes = lone.gpus_per_node = 1;
  MeasuredLog empty = measured({1, 4});
  empty.points.clear();
  MeasuredLog twice = measured({2, 4});
  twice.points.insert(twice.points.begin() + 1, twice.points.front());
  twice.points[1].time_us *= 4;
  const auto parts = parts_of({lone, empty, twice}, cluster_at, {.nccl = kNccl}, out);
  REQUIRE(parts.size() == 1);
  REQUIRE(parts[0].points.size() == 28);
  // The geometric mean of one time and four times.
  CHECK(parts[0].points[0].time_us == doctest::Approx(2 * twice.points[0].time_us));
  REQUIRE(out.left_out.size() == 2);
  CHECK(mentions(out.left_out[0].reason, "a single GPU sends nothing"));
  CHECK(mentions(out.left_out[1].reason, "no table of times"));
}

TEST_CASE("calibrate: logs that health distrusts are left out, or kept on request") {
  const MeasuredLog slow = measured({2, 4}, 4);
  Fit out;
  const auto parts = parts_of({measured({1, 4}), slow}, cluster_at, {.nccl = kNccl}, out);
  CHECK(parts.size() == 1);
  REQUIRE(out.left_out.size() == 1);
  CHECK(mentions(out.left_out[0].reason, "pass --keep-unhealthy to fit it anyway"));
  Fit kept;
  CHECK(
      parts_of({measured({1, 4}), slow}, cluster_at, {.nccl = kNccl, .keep_unhealthy = true}, kept)
          .size() == 2);
  CHECK(kept.left_out.empty());
}

TEST_CASE(
    "calibrate: each job shape is predicted from the others, a single one by data sheet "
    "values") {
  const std::vector<MeasuredLog> logs = {measured({1, 4}), measured({2, 4}), measured({8, 4})};
  const FitOptions options = {.nccl = kNccl};
  const Fit all = fit(logs);
  const auto left_out = leave_shapes_out(logs, cluster_at, options, all);
  REQUIRE(left_out.size() == 3);
  CHECK(left_out[1].shape == JobShape{2, 4});
  REQUIRE(left_out[1].residuals.size() == 28);
  const Calibration others = fit({logs[0], logs[2]}).calibration;
  for (const std::size_t k : {std::size_t{3}, std::size_t{20}}) {
    const FitResidual& row = left_out[1].residuals[k];
    CHECK(row.measured_us == doctest::Approx(logs[1].points[k].time_us));
    CHECK(row.calibrated_us == doctest::Approx(predicted_us(others, {2, 4}, row.size)));
  }
  const auto alone = leave_shapes_out({logs[0]}, cluster_at, options, fit({logs[0]}));
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].by_specification);
  const FitResidual& row = alone[0].residuals[3];
  CHECK(row.calibrated_us ==
        doctest::Approx(cost(CollectiveKind::all_reduce, row.choice, row.size, cluster_at({1, 4}))
                            .microseconds()));
}
