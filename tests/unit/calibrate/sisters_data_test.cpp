// Machines of one kind with different owners: each log is predicted from another owner's logs, as
// if published. Intervals must hold as well at a job shape that nobody measured as at a measured
// one.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "interval_quality.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;

namespace {

struct OwnedLog {
  std::string owner;
  std::string slug;
  JobShape shape;
  std::string nccl;
  bool rings = false;
};

struct KindOfNode {
  std::string line;
  std::vector<OwnedLog> logs;
};

std::vector<KindOfNode> kinds_of_node() {
  return {{"node:1 gpu:8xA100 nvswitch:300GBps",
           {{"ABCI", "abci-a100-n1g8", {1, 8}, "2.8.4"},
            {"80 GB", "a100-sxm4-80gb-n1g2", {1, 2}, "2.12.12"},
            {"80 GB", "a100-sxm4-80gb-n1g4", {1, 4}, "2.12.12"},
            {"80 GB", "a100-sxm4-80gb-n1g8", {1, 8}, "2.12.12"},
            {"40 GB", "a100-sxm4-40gb-n1g8-superbench", {1, 8}, "2.10.3"},
            {"MLE", "curve-a100-n1g8-mle", {1, 8}, "2.18.3"}}},
          {"node:1 gpu:8xV100 nvlink:6x25GBps:cube nic:1x100Gbps:efa",
           {{"plugin of 2020", "p3dn-efa-n2g1", {2, 1}, "2.6.4"},
            {"plugin of 2020", "p3dn-efa-n2g8", {2, 8}, "2.6.4"},
            {"plugin of 2019", "p3dn-efa-n2g8-nccl246-ring", {2, 8}, "2.4.6", true}}}};
}

MeasuredLog read_owned(const std::filesystem::path& folder, const OwnedLog& owned) {
  const std::filesystem::path text = folder / (owned.slug + ".txt");
  MeasuredLog log = read_nccl_tests_log(
      std::filesystem::exists(text) ? text : folder / (owned.slug + ".csv"), owned.shape);
  log.nccl = parse_nccl_version(owned.nccl);
  if (owned.rings) log.settings = {{"NCCL_ALGO", "Ring"}};
  return log;
}

/// In the form of a bundled cluster's file.
std::shared_ptr<const Calibration> as_published(const MeasuredLog& log, const std::string& line) {
  const auto at = [&](JobShape shape) {
    return load_cluster_at(line, shape.nodes, shape.gpus_per_node);
  };
  Calibration calibration = fit_calibration({log}, at, {.keep_unhealthy = true}).calibration;
  for (CalibratedShape& shape : calibration.shapes) shape.published = true;
  return std::make_shared<const Calibration>(std::move(calibration));
}

void add_owned_times(const OwnedLog& owned, const MeasuredLog& log, const Cluster& cluster,
                     IntervalQuality& intervals) {
  CollectiveTuning tuning{.nccl = *log.nccl};
  if (owned.rings) tuning.algorithms = Algorithm::ring;
  for (const MeasuredPoint& point : log.points) {
    if (point.size.count() < 1024) continue;
    const auto choice = select_algorithm(CollectiveKind::all_reduce, point.size, cluster, tuning);
    const double us = cost(CollectiveKind::all_reduce, choice, point.size, cluster).microseconds();
    const Band band = duration_band(cluster, point.size);
    intervals.add(point.time_us, us * band.faster, us * band.slower);
  }
}

}  // namespace

TEST_CASE(
    "calibrate: intervals for another owner's machine of the kind, at measured shapes and others") {
  const std::filesystem::path folder = files::shared_file("data/nccl-tests");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::map<std::string, IntervalQuality> found;
  for (const KindOfNode& kind : kinds_of_node())
    for (const OwnedLog& theirs : kind.logs) {
      const auto published = as_published(read_owned(folder, theirs), kind.line);
      for (const OwnedLog& mine : kind.logs) {
        if (mine.owner == theirs.owner) continue;
        Cluster cluster = load_cluster_at(kind.line, mine.shape.nodes, mine.shape.gpus_per_node);
        cluster.calibration = published;
        add_owned_times(mine, read_owned(folder, mine), cluster,
                        found[mine.shape == theirs.shape ? "the job shape published"
                                                         : "another number of GPUs"]);
      }
    }
  std::string table;
  for (const auto& one : found) {
    table += fmt::format("{:<24} {}\n", one.first, one.second.text());
    CHECK(one.second.share() >= 0.75);
  }
  MESSAGE("machines of other owners by one published log, from 1 KiB\n" << table);
}
