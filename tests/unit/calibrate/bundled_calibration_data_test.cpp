// The bundled calibrated clusters, compared with the published logs they rest on. Their data sheet
// values are compared with the same logs, to show what each would predict without its log.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;

namespace {

struct Cited {
  std::string cluster;
  /// In data/nccl-tests or next to it.
  std::string log;
  JobShape shape;
  std::string nccl;
  bool rings = false;
};

const std::vector<Cited> kCited{
    {"8xpcie", "nccl-tests/a100-pcie-n1g8", {1, 8}, "2.12.10"},
    {"a3-mega", "nccl-tests/gcp-a3mega-n2g8", {2, 8}, "2.21.5"},
    {"abci-a100", "nccl-tests/abci-a100-n1g8", {1, 8}, "2.8.4"},
    {"abci-a100", "nccl-tests/abci-a100-n2g8", {2, 8}, "2.8.4"},
    {"abci-v100", "nccl-tests/abci-v100-n1g4", {1, 4}, "2.8.4"},
    {"abci-v100", "nccl-tests/abci-v100-n2g4", {2, 4}, "2.8.4"},
    {"abci-v100", "nccl-tests/abci-v100-n8g4", {8, 4}, "2.8.4"},
    {"alps-gh200", "nccl-tests/alps-gh200-n1g4", {1, 4}, "2.23.4"},
    {"alps-gh200", "nccl-tests/alps-gh200-n2g4", {2, 4}, "2.23.4"},
    {"alps-gh200", "nccl-tests/alps-gh200-n8g4", {8, 4}, "2.23.4"},
    {"alps-gh200", "nccl-tests/alps-gh200-n32g4", {32, 4}, "2.23.4"},
    {"alps-gh200", "nccl-tests/alps-gh200-n128g4", {128, 4}, "2.23.4"},
    {"b200", "nccl-tests-more/mit-b200-n1g8-a", {1, 8}, "2.29.2"},
    {"b200", "nccl-tests-more/mit-b200-n1g8-b", {1, 8}, "2.29.2"},
    {"b200", "nccl-tests-more/mit-b200-n1g8-ubuntu", {1, 8}, "2.29.2"},
    {"b200", "nccl-tests/lambda-b200-n2g8", {2, 8}, "2.26.2"},
    {"dgxa100", "nccl-tests/dgxa100-ib-n2g8", {2, 8}, "2.10.3", true},
    {"dgxh100", "nccl-tests/dgxh100-n1g8", {1, 8}, "2.21.5"},
    {"p3dn", "nccl-tests/p3dn-efa-n2g8", {2, 8}, "2.6.4"},
    {"p3dn", "nccl-tests/p3dn-efa-n2g1", {2, 1}, "2.6.4"},
    {"p4d", "nccl-tests/p4d-efa-n2g8", {2, 8}, "2.9.9"},
    {"p4de", "nccl-tests/p4d-efa-n2g8", {2, 8}, "2.9.9"},
    {"p5", "nccl-tests/p5-efa-n2g8", {2, 8}, "2.21.5"},
    {"polaris-a100", "nccl-tests/polaris-a100-n2g4-nccl221", {2, 4}, "2.21.5"},
    {"polaris-a100", "nccl-tests/polaris-a100-n8g4-nccl218", {8, 4}, "2.18.3"},
    {"polaris-a100", "nccl-tests/polaris-a100-n540g4-nccl221", {540, 4}, "2.21.5"},
};

/// Error of a cluster's prediction of a log, from 1 KiB on.
struct Met {
  double error = 0;  ///< median of |predicted / measured - 1|
  int held = 0;      ///< measured times within the interval
  int sizes = 0;
  std::vector<double> errors{};
  double share() const { return static_cast<double>(held) / sizes; }
};

Met predicted(const Cluster& cluster, const Cited& cited, const MeasuredLog& log) {
  CollectiveTuning tuning{.nccl = *parse_nccl_version(cited.nccl)};
  if (cited.rings) tuning.algorithms = Algorithm::ring;
  Met met;
  std::vector<double> errors;
  for (const MeasuredPoint& point : log.points) {
    if (point.size.count() < 1024 || !(point.time_us > 0) || point.wrong > 0) continue;
    const auto choice = select_algorithm(CollectiveKind::all_reduce, point.size, cluster, tuning);
    const double us = cost(CollectiveKind::all_reduce, choice, point.size, cluster).microseconds();
    const Band band = duration_band(cluster, point.size);
    errors.push_back(std::abs(us / point.time_us - 1));
    met.held += point.time_us >= us * band.faster && point.time_us <= us * band.slower ? 1 : 0;
    ++met.sizes;
  }
  met.error = median(errors);
  met.errors = std::move(errors);
  return met;
}

Met predicted(const std::string& name, const Cited& cited, const MeasuredLog& log) {
  return predicted(load_cluster_at(name, cited.shape.nodes, cited.shape.gpus_per_node), cited, log);
}

/// One log is treated as the user's own, one of the same NCCL release is left out, and the others
/// of its cluster count as published.
struct Listed {
  std::vector<double> specified, published, own, both, own_given_back;

  void add(const Cited& mine, const Cited& out, const std::vector<Cited>& logs) {
    const std::string spec = mine.cluster + ":spec";
    const auto cluster_at = [&](JobShape shape) {
      return load_cluster_at(spec, shape.nodes, shape.gpus_per_node);
    };
    const auto read = [](const Cited& cited) {
      MeasuredLog log =
          read_nccl_tests_log(files::shared_file("data/" + cited.log + ".txt"), cited.shape);
      log.nccl = *parse_nccl_version(cited.nccl);
      return log;
    };
    std::vector<MeasuredLog> others;
    for (const Cited& cited : logs)
      if (cited.log != mine.log && cited.log != out.log) others.push_back(read(cited));
    const auto with = [&](const Calibration& calibration, const Cited& cited) {
      Cluster cluster = cluster_at(cited.shape);
      cluster.calibration = std::make_shared<const Calibration>(calibration);
      return predicted(cluster, cited, read(cited)).errors;
    };
    const auto keep = [](std::vector<double>& all, const std::vector<double>& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    const Calibration known = fit_calibration(others, cluster_at, {}).calibration;
    const Calibration alone = fit_calibration({read(mine)}, cluster_at, {}).calibration;
    const Calibration beside =
        fit_calibration({read(mine)}, cluster_at,
                        {.published = std::make_shared<const Calibration>(known)})
            .calibration;
    keep(specified, predicted(cluster_at(out.shape), out, read(out)).errors);
    keep(published, with(known, out));
    keep(own, with(alone, out));
    keep(both, with(beside, out));
    keep(own_given_back, with(beside, mine));
  }
};

}  // namespace

TEST_CASE("bundled clusters: each reproduces its published log better than its data sheet does") {
  if (!std::filesystem::exists(files::shared_file("data/nccl-tests-more"))) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::string table;
  Met without;
  for (const Cited& cited : kCited) {
    CAPTURE(cited.log);
    const MeasuredLog log =
        read_nccl_tests_log(files::shared_file("data/" + cited.log + ".txt"), cited.shape);
    const Met calibrated = predicted(cited.cluster, cited, log);
    const Met specified = predicted(cited.cluster + ":spec", cited, log);
    table += fmt::format(
        "{:<12} {:<44} calibrated {:5.1f} % held {:3.0f} %   specified {:5.1f} % held {:3.0f} %\n",
        cited.cluster, cited.log, 100 * calibrated.error, 100 * calibrated.share(),
        100 * specified.error, 100 * specified.share());
    without.held += specified.held;
    without.sizes += specified.sizes;
    CHECK(calibrated.error < 0.05);
    CHECK(calibrated.share() >= 0.75);
  }
  MESSAGE(
      "median error and intervals, from 1 KiB\n"
      << table
      << fmt::format("specifications held {:.0f} % of {}", 100 * without.share(), without.sizes));
  CHECK(without.share() >= 0.75);
}

TEST_CASE("bundled clusters: own logs and published ones predict a third job shape") {
  if (!std::filesystem::exists(files::shared_file("data/nccl-tests-more"))) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::string table = "median, p90, worst of |error| in % from 1 KiB, the job shape left out\n";
  for (const char* name : {"abci-v100", "alps-gh200", "polaris-a100"}) {
    std::vector<Cited> logs;
    std::ranges::copy_if(kCited, std::back_inserter(logs),
                         [&](const Cited& cited) { return cited.cluster == name; });
    Listed found;
    for (const Cited& mine : logs)
      for (const Cited& out : logs)
        if (mine.log != out.log && mine.nccl == out.nccl) found.add(mine, out, logs);
    table += fmt::format("{:<13}", name);
    for (const auto& [what, errors] :
         {std::pair("specification", &found.specified), std::pair("published", &found.published),
          std::pair("own", &found.own), std::pair("both", &found.both)})
      table += fmt::format(" {} {:4.1f} {:4.0f} {:4.0f}  ", what, 100 * median(*errors),
                           100 * quantile(*errors, 0.9), 100 * quantile(*errors, 1));
    table += "\n";
    CHECK(median(found.both) <=
          // Equal if everything else published is of another release.
          median(found.own));
    CHECK(median(found.both) < median(found.published));
    CHECK(quantile(found.own_given_back, 0.9) < 0.01);
  }
  MESSAGE(table);
}

TEST_CASE(
    "bundled clusters: if NCCL may leave LL one node earlier or later, both intervals cover it") {
  // With one more node, the table chooses a tree with Simple, and 630 us become 220 us. NCCL's two
  // estimates lie within 7 %.
  const auto row = [](int nodes) {
    const Cluster cluster = load_cluster_at("alps-gh200", nodes, 4);
    const std::vector<Bytes> sizes{Bytes(600'000)};
    return all_reduce_table(cluster, {.nccl = NcclVersion{2, 23, 4}}, sizes);
  };
  const AllReduceTable five = row(5);
  const AllReduceTable six = row(6);
  REQUIRE(five.rows[0].time > six.rows[0].time.scaled(2));
  CHECK(five.rows[0].low < six.rows[0].time);
  CHECK(six.rows[0].high > five.rows[0].time);
  CHECK(five.confidence.because.back() ==
        "if NCCL estimates two choices within 7 % of each other, low and high cover both");
  CHECK(row(2).rows[0].high <
        row(2).rows[0].time.scaled(2));  // measured, so NCCL's choice is known
}

TEST_CASE("bundled clusters: a published calibration is found for any number of nodes") {
  CHECK(published_calibration("p4d@1") != nullptr);
  CHECK(published_calibration("p4d:spec") == nullptr);
  CHECK(published_calibration("dgx2") == nullptr);
  CHECK(published_calibration("node:2 gpu:8xA100 nvswitch:300GBps nic:4x200Gbps:ib") == nullptr);
}

TEST_CASE("bundled clusters: published logs of several nodes tell nothing about one node") {
  CHECK(load_cluster_at("p4d", 2, 8).calibration != nullptr);
  CHECK(load_cluster_at("p4d", 1, 8).calibration == nullptr);
  CHECK(load_cluster_at("dgxh100", 1, 8).calibration != nullptr);
  CHECK(load_cluster_at("dgxh100", 2, 8).calibration == nullptr);
  CHECK(load_cluster_at("p4d:spec", 2, 8).calibration == nullptr);
}

TEST_CASE("bundled clusters: the grade is B at best, and C beyond the measured nodes") {
  CHECK(grade_of(load_cluster_at("p4d", 2, 8), true) == Grade::b);
  CHECK(grade_of(load_cluster_at("p4d", 4, 8), true) == Grade::c);
  CHECK(grade_of(load_cluster_at("alps-gh200", 64, 4), true) == Grade::b);
  CHECK(grade_of(load_cluster_at("alps-gh200", 256, 4), true) == Grade::c);
}

TEST_CASE("bundled clusters: a published calibration stays next to a file with own logs") {
  const auto published_beside = [](const std::string& cluster) {
    Calibration own;
    own.constants = constants_of(load_cluster({cluster, {}, {}}));
    own.shapes = {{1, 8, Bytes(8), Bytes(1024), "own.txt"}};
    const auto path = std::filesystem::temp_directory_path() /
                      ("ddpsim-own-logs-" + std::to_string(::getpid()) + ".json");
    write_file(path, calibrated_cluster_file(cluster, own));
    auto found = published_calibration(path.string());
    std::filesystem::remove(path);
    return found;
  };
  const auto beside = published_beside("dgxh100");
  REQUIRE(beside);
  CHECK(beside->shapes.size() == published_calibration("dgxh100")->shapes.size());
  CHECK(beside->shapes.front().source == published_calibration("dgxh100")->shapes.front().source);
  CHECK(published_beside("node:1 gpu:8xA100 nvswitch:300GBps") == nullptr);
}
