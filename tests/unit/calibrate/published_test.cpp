// Own logs together with published logs of a machine of the same kind. Measured shapes follow the
// own logs; all others keep the published ones.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "cost_model_logs.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/fit/shapes_left_out.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "published_logs.hpp"

using namespace ddpsim;
using namespace ddpsim::cost_model_logs;

namespace {

/// A log of a machine whose times no constants explain: they oscillate with the size.
MeasuredLog waving(JobShape shape, double factor) {
  MeasuredLog log = measured(shape, factor);
  for (MeasuredPoint& point : log.points)
    point.time_us *= 1 + 0.2 * std::sin(std::log(static_cast<double>(point.size.count())));
  return log;
}

std::shared_ptr<const Calibration> published_of(const std::vector<MeasuredLog>& logs) {
  Calibration calibration = fit(logs).calibration;
  for (CalibratedShape& log : calibration.shapes) log.published = true;
  return std::make_shared<const Calibration>(std::move(calibration));
}

Fit fit_beside(const std::vector<MeasuredLog>& logs, std::shared_ptr<const Calibration> published) {
  return fit_calibration(logs, cluster_at, {.nccl = kNccl, .published = std::move(published)});
}

double worst(const Calibration& calibration, const MeasuredLog& log) {
  double error = 0;
  for (const MeasuredPoint& point : log.points)
    error = std::max(
        error, std::abs(predicted_us(calibration, *log.shape(), point.size) / point.time_us - 1));
  return error;
}

}  // namespace

TEST_CASE("calibrate: a published calibration gives its logs back, each size once") {
  const std::vector<MeasuredLog> given{waving({1, 4}, 1), waving({2, 4}, 1.2),
                                       waving({2, 4}, 1.21)};
  const std::vector<MeasuredLog> back = published_logs(*published_of(given), cluster_at);
  REQUIRE(back.size() == 2);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    CHECK(back[i].shape() == given[i].shape());
    CHECK(back[i].nccl == given[i].nccl);
    REQUIRE(back[i].points.size() == given[i].points.size());
    for (std::size_t k = 0; k < given[i].points.size(); ++k) {
      CHECK(back[i].points[k].size == given[i].points[k].size);
      CHECK(back[i].points[k].time_us == doctest::Approx(given[i].points[k].time_us).epsilon(0.02));
    }
  }
  CHECK(back[0].decisions.empty());
}

TEST_CASE("calibrate: a forced NCCL choice is recovered with published logs") {
  MeasuredLog rings = measured({2, 4});
  rings.settings = {{"NCCL_ALGO", "Ring"}};
  const std::vector<MeasuredLog> back = published_logs(*published_of({rings}), cluster_at);
  REQUIRE(back.size() == 1);
  CHECK_FALSE(back[0].decisions.empty());  // at least where the table chooses trees
  for (const NcclDecision& decision : back[0].decisions)
    CHECK(decision.algorithm == Algorithm::ring);
}

TEST_CASE("calibrate: measured shapes follow their own log, all others the published logs") {
  const MeasuredLog own = waving({1, 4}, 1.2);
  const MeasuredLog others = waving({2, 4}, 0.8);
  const MeasuredLog contrary = waving({1, 4}, 0.9);
  const Fit found = fit_beside({own}, published_of({contrary, others}));
  CHECK(worst(found.calibration, own) < 0.02);
  CHECK(worst(found.calibration, others) < 0.12);
  CHECK(worst(fit({own}).calibration, others) > 0.2);  // as without the own log
  CHECK(found.used.size() == 1);
  CHECK(found.residuals.size() == own.points.size());
  REQUIRE(found.calibration.shapes.size() == 3);
  CHECK_FALSE(found.calibration.shapes[0].published);
  CHECK(found.calibration.shapes[1].published);
  CHECK(found.calibration.shapes[2].published);
}

TEST_CASE("calibrate: a single shape left out is predicted by its published log") {
  const MeasuredLog own = measured({2, 4}, 1.1);
  const auto published = published_of({measured({2, 4})});
  const FitOptions options{.nccl = kNccl, .published = published};
  Fit found = fit_calibration({own}, cluster_at, options);
  const auto left_out = leave_shapes_out({own}, cluster_at, options, found);
  REQUIRE(left_out.size() == 1);
  CHECK_FALSE(left_out[0].by_specification);
  CHECK(errors_of(left_out[0].residuals, Bytes(1)).median ==
        doctest::Approx(1 - 1 / 1.1).epsilon(0.1));
  state_left_out_errors(left_out, found.calibration);
  CHECK(found.calibration.shapes[0].left_out_error.has_value());
  CHECK_FALSE(found.calibration.shapes[1]
                  .left_out_error.has_value());  // the published log has its own error
}

TEST_CASE("calibrate: a published log that is the user's own counts only once") {
  const std::vector<MeasuredLog> logs{waving({1, 4}, 1), waving({2, 4}, 1.2)};
  const auto published = published_of({logs[0], logs[1], waving({4, 4}, 1.3)});
  const FitOptions options{.nccl = kNccl, .published = published};
  const Fit found = fit_calibration(logs, cluster_at, options);
  CHECK(found.repeated.size() == 2);
  REQUIRE(found.calibration.shapes.size() == 3);
  CHECK(found.calibration.shapes[2].nodes == 4);
  // As if only the other log had been published.
  const FitOptions other{.nccl = kNccl, .published = published_of({waving({4, 4}, 1.3)})};
  const auto left_out = leave_shapes_out(logs, cluster_at, options, found);
  const auto without =
      leave_shapes_out(logs, cluster_at, other, fit_calibration(logs, cluster_at, other));
  REQUIRE(left_out.size() == 2);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    CHECK(errors_of(left_out[i].residuals, Bytes(1)).median ==
          doctest::Approx(errors_of(without[i].residuals, Bytes(1)).median).epsilon(0.2));
  // Alone, it is predicted by data sheet values, never by itself.
  const Fit alone =
      fit_calibration({logs[0]}, cluster_at, {.nccl = kNccl, .published = published_of({logs[0]})});
  const auto by_none = leave_shapes_out(
      {logs[0]}, cluster_at, {.nccl = kNccl, .published = published_of({logs[0]})}, alone);
  REQUIRE(by_none.size() == 1);
  CHECK(by_none[0].by_specification);
  // One own log suffices for two published logs of one shape, because they are recovered as one.
  const auto two = published_of({logs[1], waving({2, 4}, 1.3)});
  CHECK(fit_beside({logs[1]}, two).repeated.size() == 2);
  CHECK(fit_beside({waving({2, 4}, 0.9)}, two).repeated.empty());
  // Other times, or another release, are another measurement.
  CHECK(fit_beside({waving({1, 4}, 1.05)}, published_of({waving({1, 4}, 1)})).repeated.empty());
  MeasuredLog older = logs[0];
  older.nccl = NcclVersion{2, 4, 8};
  CHECK(fit_beside({older}, published_of({logs[0]})).repeated.empty());
}

TEST_CASE(
    "calibrate: a published log of another NCCL release is left out if own logs have theirs") {
  const auto of_release = [](MeasuredLog log, int minor) {
    log.nccl = NcclVersion{2, minor, 1};
    return log;
  };
  const MeasuredLog own = of_release(waving({2, 4}, 1.2), 21);
  const auto published =
      published_of({of_release(waving({8, 4}, 0.7), 18), of_release(waving({1, 4}, 1), 18),
                    of_release(waving({16, 4}, 1.1), 21)});
  const Fit found = fit_beside({own}, published);
  CHECK(found.other_release == std::vector<std::string>{"n8.txt"});
  CHECK(found.repeated.empty());
  REQUIRE(found.calibration.shapes.size() ==
          // One node was not measured, and 2.21 is the own release.
          3);
  CHECK(nearest_nccl(found.calibration, 8, 4) == NcclVersion{2, 21, 1});
  CHECK(nearest_nccl(found.calibration, 1, 4) == NcclVersion{2, 21, 1});
  // Without it, eight nodes are predicted as if it had never been published.
  const auto others =
      published_of({of_release(waving({1, 4}, 1), 18), of_release(waving({16, 4}, 1.1), 21)});
  CHECK(predicted_us(found.calibration, {8, 4}, Bytes(1 << 16)) ==
        doctest::Approx(predicted_us(fit_beside({own}, others).calibration, {8, 4}, Bytes(1 << 16)))
            .epsilon(0.1));
  // Another patch version is not another release.
  CHECK(fit_beside({own}, published_of({[&] {
                     MeasuredLog log = of_release(waving({8, 4}, 0.7), 21);
                     log.nccl->patch = 5;
                     return log;
                   }()}))
            .other_release.empty());
}

TEST_CASE("calibrate: published logs of any release stay if the own release is unknown") {
  MeasuredLog silent = waving({2, 4}, 1.2);
  silent.nccl.reset();
  const auto published = published_of({waving({8, 4}, 0.7)});
  CHECK(fit_beside({silent}, published).other_release.empty());
  // An assumed release is not written down as known either.
  CHECK_FALSE(fit_beside({silent}, published).calibration.shapes[0].nccl);
  CHECK(fit({silent}).calibration.shapes[0].nccl == kNccl);
  const FitOptions stated{.nccl = {2, 21, 5}, .nccl_stated = true, .published = published};
  CHECK(fit_calibration({silent}, cluster_at, stated).other_release.size() == 1);
  // All-reduces of a training have too few sizes to replace the published logs.
  MeasuredLog recorded = silent;
  recorded.timed_by = TimedBy::joined_ranks;
  CHECK(fit_calibration({recorded}, cluster_at, stated).other_release.empty());
}

TEST_CASE("calibrate: published logs of another release do not change a left-out error") {
  const auto of_release = [](MeasuredLog log, int minor) {
    log.nccl = NcclVersion{2, minor, 1};
    return log;
  };
  const std::vector<MeasuredLog> logs{of_release(waving({2, 4}, 1.2), 21),
                                      of_release(waving({16, 4}, 1.3), 21)};
  const FitOptions beside{.nccl = kNccl,
                          .published = published_of({of_release(waving({8, 4}, 0.7), 18)})};
  const FitOptions alone{.nccl = kNccl};
  const auto with =
      leave_shapes_out(logs, cluster_at, beside, fit_calibration(logs, cluster_at, beside));
  const auto without =
      leave_shapes_out(logs, cluster_at, alone, fit_calibration(logs, cluster_at, alone));
  REQUIRE(with.size() == 2);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    CHECK(errors_of(with[i].residuals, Bytes(1)).median ==
          errors_of(without[i].residuals, Bytes(1)).median);
  // It is the only log left out, because another release tells nothing about several nodes.
  const std::vector<MeasuredLog> one{logs[0]};
  const auto by_none =
      leave_shapes_out(one, cluster_at, beside, fit_calibration(one, cluster_at, beside));
  REQUIRE(by_none.size() == 1);
  CHECK(by_none[0].by_specification);
}

TEST_CASE("confidence: own logs next to published ones, and which of them is named") {
  const Fit found = fit_beside({measured({1, 4})}, published_of({measured({2, 4})}));
  const auto calibrated = [&](JobShape shape) {
    Cluster cluster = cluster_at(shape);
    cluster.calibration = std::make_shared<const Calibration>(found.calibration);
    return cluster;
  };
  CHECK(grade_of(calibrated({1, 4}), true) == Grade::a);
  CHECK(grade_of(calibrated({2, 4}), true) == Grade::b);
  CHECK(calibration_of(calibrated({1, 4})) ==
        "the cluster is calibrated with 1 log of it and 1 published log of such machines");
  CHECK(calibration_of(calibrated({2, 4})) ==
        "the cluster is calibrated with 1 log of it and 1 published log of such machines. One "
        "published log has this job shape (n2.txt, 2 nodes of 4 GPUs)");
}
