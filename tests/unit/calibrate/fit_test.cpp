#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "complaint.hpp"
#include "cost_model_logs.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using namespace ddpsim::cost_model_logs;

namespace {

std::string complaint(const std::vector<MeasuredLog>& logs) {
  return complaint_of([&] { fit(logs); });
}

}  // namespace

TEST_CASE("calibrate: the constants of a synthetic cluster are recovered") {
  const Fit found = fit({measured({1, 4}), measured({2, 4}), measured({8, 4})});
  const PathConstants constants = truth();
  const PathConstants& fitted = found.calibration.constants;
  CHECK(fitted.launch_us == doctest::Approx(constants.launch_us).epsilon(0.1));
  CHECK(fitted.nic_share == doctest::Approx(constants.nic_share).epsilon(0.03));
  // One number of GPUs per node cannot separate the rate of links from the last copy.
  const double with_last_copy = fitted.local_share / (1 + fitted.ring_ends / (2 * (4 - 1)));
  CHECK(with_last_copy == doctest::Approx(constants.local_share).epsilon(0.03));
  CHECK(fitted.hop_us[0] == doctest::Approx(constants.hop_us[0]).epsilon(0.1));
  CHECK(errors_of(found.residuals, Bytes(1)).median < 0.01);
  CHECK(errors_of(found.residuals, Bytes(1)).p90 < 0.03);
  for (const FittedConstant& constant : found.constants) {
    CHECK(constant.low < constant.value);
    CHECK(constant.value <= constant.high);
  }
}

TEST_CASE(
    "calibrate: a job shape in between comes from the cost model, not from its neighbours' times") {
  const Fit found = fit({measured({1, 4}), measured({2, 4}), measured({8, 4})});
  const MeasuredLog between = measured({4, 4});
  for (const MeasuredPoint& point : between.points) {
    INFO(point.size.count());
    CHECK(predicted_us(found.calibration, {4, 4}, point.size) ==
          doctest::Approx(point.time_us).epsilon(0.1));
  }
}

TEST_CASE("calibrate: the correction keeps what the cost model does not know") {
  MeasuredLog log = measured({2, 4});
  for (MeasuredPoint& point : log.points)
    if (point.size >= Bytes(65'536) && point.size <= Bytes(1 << 20)) point.time_us *= 1.6;
  const Fit found = fit({measured({1, 4}), log, measured({8, 4})});
  const FitErrors errors = errors_of(found.residuals, Bytes(1024));
  CHECK(errors.median < 0.02);
  CHECK_FALSE(found.model_misses.empty());
}

TEST_CASE("calibrate: the same logs give the same bits") {
  const std::vector<MeasuredLog> logs = {measured({2, 4}), measured({8, 4})};
  const Fit one = fit(logs);
  const Fit other = fit(logs);
  REQUIRE(one.calibration.correction.size() == other.calibration.correction.size());
  for (std::size_t i = 0; i < one.calibration.correction.size(); ++i)
    CHECK(one.calibration.correction[i].weight == other.calibration.correction[i].weight);
  CHECK(one.calibration.constants.nic_share == other.calibration.constants.nic_share);
}

TEST_CASE("calibrate: intervals widen between job shapes, and beyond them towards slower") {
  MeasuredLog uneven = measured({8, 4});
  for (std::size_t i = 0; i < uneven.points.size(); i += 2) uneven.points[i].time_us *= 1.3;
  const Calibration calibration = fit({measured({2, 4}), uneven}).calibration;
  const Bytes size(1 << 22);
  const Band here = calibrated_band(calibration, 8, 4, size);
  const Band between = calibrated_band(calibration, 4, 4, size);
  const Band beyond = calibrated_band(calibration, 64, 4, size);
  CHECK(between.slower > here.slower);
  CHECK(beyond.slower > between.slower);
  CHECK(beyond.slower > 1 / beyond.faster);
  CHECK(beyond_calibration(calibration, 4, 4).empty());
  CHECK(mentions(beyond_calibration(calibration, 64, 4), "64 nodes lie beyond"));
  CHECK(mentions(beyond_calibration(calibration, 1, 4), "1 node lies beyond"));
}

TEST_CASE("calibrate: intervals widen outside the sizes measured at the same job shape") {
  MeasuredLog small = measured({2, 4});
  std::erase_if(small.points, [](const MeasuredPoint& row) { return row.size > Bytes(1 << 16); });
  const Calibration calibration =
      fit({small, measured({8, 4}, 1, 1 << 20), measured({1, 4})}).calibration;
  const auto width = [&](int nodes, Bytes size) {
    const Band band = calibrated_band(calibration, nodes, 4, size);
    return band.slower / band.faster;
  };
  CHECK(width(2, Bytes(1 << 26)) > 1.1 * width(1, Bytes(1 << 26)));  // measured only elsewhere
  CHECK(width(8, Bytes(1 << 10)) > 1.1 * width(1, Bytes(1 << 10)));
  CHECK(width(2, Bytes(1 << 30)) > width(2, Bytes(1 << 24)));
  CHECK(is_measured_at(calibration, 2, 4, Bytes(1 << 16)));
  CHECK_FALSE(is_measured_at(calibration, 2, 4, Bytes(1 << 17)));
  CHECK_FALSE(is_measured_at(calibration, 8, 4, Bytes(1 << 10)));
}

TEST_CASE("calibrate: rows that nccl-tests marked wrong are not fitted") {
  MeasuredLog log = measured({2, 4});
  for (MeasuredPoint& point : log.points)
    if (point.size == Bytes(1 << 20) || point.size == Bytes(1 << 30)) {
      point.wrong = 1;
      point.time_us *= 1.7;
    }
  const Fit found = fit({log});
  CHECK(found.residuals.size() == log.points.size() - 2);
  CHECK(found.calibration.shapes.front().largest == Bytes(1 << 29));
  CHECK(predicted_us(found.calibration, {2, 4}, Bytes(1 << 20)) ==
        doctest::Approx(measured({2, 4}).points[17].time_us).epsilon(0.1));
  CHECK(mentions(found.notes.front(),
                 "1 MiB: 1 wrong results out of place, row left out; 1 GiB: 1 "));
  // In place, the same row may be right.
  MeasuredPoint& row = log.points[17];
  REQUIRE(row.size == Bytes(1 << 20));
  row.wrong = 3232;
  row.in_place_us = measured({2, 4}).points[17].time_us;
  for (const std::optional<double>& checked : {std::optional<double>(), std::optional(5.0)}) {
    row.wrong_in_place = checked;
    CHECK(fit({log}).residuals.size() == log.points.size() - 2);
  }
  row.wrong_in_place = 0;
  const Fit in_place = fit({log});
  CHECK(in_place.residuals.size() == log.points.size() - 1);
  CHECK(in_place.residuals[17].measured_us == doctest::Approx(*row.in_place_us));
  CHECK(mentions(in_place.notes.front(),
                 "1 MiB: 3232 wrong results out of place, in-place time taken"));
  for (MeasuredPoint& point : log.points) {
    point.wrong = 1;
    point.wrong_in_place = 1;
  }
  CHECK(mentions(complaint({log}), "has wrong results at every size"));
}

TEST_CASE("calibrate: logs of CPUs and of other backends tell nothing about NCCL") {
  MeasuredLog cpu = measured({2, 4});
  cpu.gpu = "CPU; compute is a timed wait";
  CHECK(mentions(complaint({cpu}), "was taken on CPUs, so it tells nothing about NCCL"));
  MeasuredLog gloo = measured({2, 4});
  gloo.backend = "gloo";
  CHECK(mentions(complaint({gloo}), "was taken over gloo"));
}

TEST_CASE("calibrate: the direction of the cost model's errors is reported") {
  const auto breaks = [](double factor) {
    MeasuredLog log = measured({2, 4});
    for (MeasuredPoint& point : log.points)
      if (point.size >= Bytes(1 << 16) && point.size <= Bytes(1 << 20)) point.time_us *= factor;
    std::string all;
    for (const std::string& line : fit({measured({1, 4}), log}).model_misses) all += line + "\n";
    return all;
  };
  CHECK(mentions(breaks(1.8), "measured times are up to 1."));
  CHECK(mentions(breaks(0.5), "measured times are down to 0."));
}

TEST_CASE("calibrate: logs that cannot be fitted are refused with the reason") {
  CHECK(mentions(complaint({}), "no log to fit"));
  MeasuredLog one_size = measured({2, 4});
  one_size.points.resize(1);
  CHECK(mentions(complaint({one_size}), "only one size"));
  one_size.points.push_back(one_size.points.front());  // the same size twice counts once
  CHECK(mentions(complaint({one_size}), "only one size"));
  MeasuredLog few = measured({2, 4});
  few.points.resize(3);
  CHECK(mentions(complaint({few}), "has 3 sizes"));
  MeasuredLog nowhere = measured({2, 4});
  nowhere.nodes.reset();
  CHECK(mentions(complaint({nowhere}), "FILE@NODESxGPUS"));
  MeasuredLog other_gpu = measured({2, 4});
  other_gpu.gpu = "Tesla V100-SXM2-16GB";
  CHECK(mentions(complaint({other_gpu}), "V100, but the cluster has A100"));
}

TEST_CASE("calibrate: logs of one job shape that contradict each other") {
  CHECK(mentions(complaint({measured({2, 4}), measured({2, 4}, 2.2)}), "2.20 times what n2.txt"));
  CHECK(mentions(complaint({measured({2, 4}), measured({2, 4})}), "has the same times as n2.txt"));
  const Fit found = fit({measured({2, 4}), measured({2, 4}, 1.2)});
  CHECK(std::any_of(found.notes.begin(), found.notes.end(),
                    [](const std::string& note) { return mentions(note, "1.20 times"); }));
}

TEST_CASE("calibrate: the interval at a measured job shape spans logs that differ, and in place") {
  const auto held = [](const Fit& found, const MeasuredLog& log, double factor) {
    int count = 0;
    for (const MeasuredPoint& point : log.points) {
      const double expected = predicted_us(found.calibration, {2, 4}, point.size);
      const Band band = calibrated_band(found.calibration, 2, 4, point.size);
      const double time = point.time_us * factor;
      count += time >= expected * band.faster && time <= expected * band.slower ? 1 : 0;
    }
    return static_cast<double>(count) / static_cast<double>(log.points.size());
  };
  MeasuredLog log = measured({2, 4});
  CHECK(held(fit({log}), log, 1.2) == 0);
  const Fit apart = fit({log, measured({2, 4}, 1.4)});
  CHECK(held(apart, log, 1) > 0.75);
  CHECK(held(apart, log, 1.4) > 0.75);
  CHECK(held(apart, log, 3) == 0);
  for (MeasuredPoint& point : log.points) point.in_place_us = 1.2 * point.time_us;
  CHECK(held(fit({log}), log, 1.15) > 0.75);
}

TEST_CASE("calibrate: a row 50 % slower out of place than in place was disturbed") {
  const auto taken_us = [](double times) {
    MeasuredLog log = measured({2, 4});
    MeasuredPoint& row = log.points[17];
    row.in_place_us = row.time_us;
    row.time_us *= times;
    return fit({log}).residuals[17].measured_us / *row.in_place_us;
  };
  CHECK(taken_us(1.45) == doctest::Approx(1.45));
  CHECK(taken_us(1.55) == doctest::Approx(1));
}

TEST_CASE("calibrate: logs of one job shape that differ only at large sizes") {
  MeasuredLog slow = measured({2, 4});
  for (MeasuredPoint& point : slow.points)
    if (point.size >= Bytes(1 << 20)) point.time_us *= 2.05;
  CHECK(mentions(complaint({measured({2, 4}), slow}), "(median from 1 MiB)"));
}

TEST_CASE("calibrate: another unit of time is detected, even in one of several logs") {
  CHECK(mentions(complaint({measured({2, 4}, 1000)}), "these look like nanoseconds"));
  CHECK(mentions(complaint({measured({1, 4}), measured({2, 4}, 0.001)}),
                 "Microseconds are expected"));
}

TEST_CASE("calibrate: sizes in elements are detected") {
  MeasuredLog log = measured({2, 4});
  for (MeasuredPoint& point : log.points)
    point.size = Bytes(std::max<std::int64_t>(1, point.size.count() / 4));
  CHECK(mentions(complaint({log}), "elements of 4 bytes"));
}

TEST_CASE("calibrate: logs show where NCCL weighed differently from its table") {
  Calibration otherwise;
  otherwise.constants = truth();
  otherwise.selection = {.tree_factor = 0.8, .ll128_between_nodes = false};
  const auto log = [&](int nodes) { return measured({nodes, 4}, 1, 8, otherwise); };
  const Calibration fitted = fit({log(1), log(2), log(8)}).calibration;
  CHECK_FALSE(fitted.selection.ll128_between_nodes);
  CHECK(fitted.selection.tree_factor < 1);
  Cluster with_fit = cluster_at({4, 4});
  with_fit.calibration = std::make_shared<const Calibration>(fitted);
  Cluster with_truth = cluster_at({4, 4});
  with_truth.calibration = std::make_shared<const Calibration>(otherwise);
  int alike = 0;
  for (std::int64_t size = 8; size <= 1 << 30; size *= 2) {
    const auto chosen = [&](const Cluster& cluster) {
      const auto choice =
          select_algorithm(CollectiveKind::all_reduce, Bytes(size), cluster, {.nccl = kNccl});
      return std::pair(choice.algorithm, choice.protocol);
    };
    if (chosen(with_fit) == chosen(with_truth)) ++alike;
  }
  // Out of 28, because a switch may be one size off.
  CHECK(alike >= 25);
}

TEST_CASE("calibrate: a choice that NCCL printed is used as printed") {
  MeasuredLog log = measured({2, 4});
  const Bytes size(1 << 20);
  log.decisions.push_back({size, Algorithm::tree, Protocol::ll, {}});
  bool found = false;
  for (const FitResidual& row : fit({log}).residuals)
    if (row.size == size) {
      found = true;
      CHECK(row.choice.algorithm == Algorithm::tree);
      CHECK(row.choice.protocol == Protocol::ll);
    }
  CHECK(found);
}

TEST_CASE("calibrate: logs of two NCCL releases stay separate") {
  const auto log = [](int nodes, int minor, double factor) {
    MeasuredLog out = measured({nodes, 4}, factor);
    out.nccl->minor = minor;
    return out;
  };
  const Calibration calibration = fit({log(2, 18, 1), log(8, 18, 1), log(16, 21, 1.5)}).calibration;
  CHECK(of_several_releases(calibration));
  CHECK_FALSE(of_several_releases(fit({log(2, 18, 1), log(8, 18, 1)}).calibration));
  Cluster cluster = cluster_at({4, 4});
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  const auto us = [&](int minor) {
    CollectiveChoice choice{Algorithm::tree, Protocol::ll, 1, {}};
    choice.nccl = {2, minor, 3};
    return cost(CollectiveKind::all_reduce, choice, Bytes(256), cluster).microseconds();
  };
  CHECK(us(21) > 1.1 * us(18));
}

TEST_CASE("calibrate: a job shape's own correction does not cross NCCL releases") {
  const auto log = [](int nodes, int minor) {
    MeasuredLog out = measured({nodes, 4});
    out.nccl->minor = minor;
    return out;
  };
  MeasuredLog disturbed = log(8, 18);
  for (MeasuredPoint& point : disturbed.points)
    if (point.size == Bytes(64 << 20)) point.time_us *= 1.25;
  Cluster cluster = cluster_at({8, 4});
  const auto us = [&](const Calibration& calibration, int minor) {
    cluster.calibration = std::make_shared<const Calibration>(calibration);
    CollectiveChoice choice = select_algorithm(CollectiveKind::all_reduce, Bytes(64 << 20), cluster,
                                               {.nccl = {2, minor, 3}});
    return cost(CollectiveKind::all_reduce, choice, Bytes(64 << 20), cluster).microseconds();
  };
  const double sound = measured({8, 4}).points[23].time_us;
  REQUIRE(measured({8, 4}).points[23].size == Bytes(64 << 20));
  const Calibration two = fit({disturbed, log(2, 21), log(16, 21)}).calibration;
  CHECK(us(two, 18) > 1.15 * sound);
  CHECK(us(two, 21) < 1.12 * sound);
  // No log is of 2.24, so the nearest one counts, as if all logs had one release.
  CHECK(us(two, 24) > 1.15 * sound);
  const Calibration one = fit({disturbed, log(2, 18), log(16, 18)}).calibration;
  CHECK(us(one, 21) > 1.15 * sound);
}

TEST_CASE("calibrate: the cluster file keeps every bit and the cluster's own text") {
  const Fit found = fit({measured({1, 4}), measured({2, 4})});
  const std::string file = calibrated_cluster_file(kLine, found.calibration);
  const Cluster back = parse_cluster(file, "c2.json");
  REQUIRE(back.calibration);
  CHECK(back.gpu.name == "A100");
  CHECK(back.intra.per_gpu == cluster_at({1, 4}).intra.per_gpu);
  const auto& written = found.calibration;
  CHECK(back.calibration->constants.hop_us == written.constants.hop_us);
  CHECK(back.calibration->residual_deviation.middle == written.residual_deviation.middle);
  REQUIRE(back.calibration->correction.size() == written.correction.size());
  for (std::size_t i = 0; i < written.correction.size(); ++i)
    CHECK(back.calibration->correction[i].weight == written.correction[i].weight);
  REQUIRE(back.calibration->shapes.size() == 2);
  CHECK(back.calibration->shapes[1].source == "n2.txt");
  CHECK(*back.calibration->shapes[1].nccl == kNccl);
}

TEST_CASE("calibrate: bundled clusters keep their text and their number of nodes") {
  const Fit found = fit({measured({1, 4}), measured({2, 4})});
  for (const BundledCluster& bundled : bundled_clusters()) {
    INFO(bundled.name);
    const Cluster before = load_cluster({.text = bundled.name, .nodes = {}, .gpus_per_node = {}});
    const Cluster after =
        parse_cluster(calibrated_cluster_file(bundled.name, found.calibration), "c2.json");
    CHECK(after.name == before.name);
    CHECK(after.nodes == before.nodes);
    CHECK(after.ring.channels == before.ring.channels);
    CHECK(after.prices.size() == before.prices.size());
  }
  const Cluster four =
      parse_cluster(calibrated_cluster_file("abci-v100@4", found.calibration), "c2.json");
  CHECK(four.nodes == 4);
}
