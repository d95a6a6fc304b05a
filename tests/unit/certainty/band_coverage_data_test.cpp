// How often the intervals of uncalibrated clusters hold, by kind of machine: every valid open log,
// from 1 KiB on. The cost model was learned from these logs, so the bar is low.
// tests/accuracy/fit_cost_model.py --leave-one-out prints what bands of other families held.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>

#include "data_files.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "interval_quality.hpp"
#include "open_logs.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;

namespace {

std::string kind_of(const Cluster& cluster) {
  if (cluster.nodes == 1)
    return cluster.intra.kind == IntraKind::pcie ? "one PCIe node" : "one NVLink node";
  if (cluster.gpus_per_node == 1) return "one GPU a node";
  switch (cluster.network.kind) {
    case NetworkKind::efa:
      return "EFA and its like";
    case NetworkKind::slingshot:
      return "Slingshot";
    case NetworkKind::tcp:
      return "sockets";
    default:
      return "InfiniBand";
  }
}

struct KindOfMachine {
  IntervalQuality intervals;
  int logs = 0;
};

}  // namespace

TEST_CASE("uncertainty: for each kind of machine the intervals hold 75 % of the measured times") {
  const std::filesystem::path folder = files::shared_file("data/nccl-tests");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::map<std::string, KindOfMachine> kinds;
  for (const open_logs::Log& log : open_logs::stated()) {
    const std::filesystem::path text = folder / (log.slug + ".txt");
    const std::filesystem::path path =
        std::filesystem::exists(text) ? text : folder / (log.slug + ".csv");
    KindOfMachine& kind = kinds[kind_of(log.cluster)];
    ++kind.logs;
    const JobShape shape{log.cluster.nodes, log.cluster.gpus_per_node};
    for (const MeasuredPoint& point : read_nccl_tests_log(path, shape).points) {
      if (point.size.count() < 1024 || !(point.time_us > 0)) continue;
      const auto choice =
          select_algorithm(CollectiveKind::all_reduce, point.size, log.cluster, log.tuning());
      const double us =
          cost(CollectiveKind::all_reduce, choice, point.size, log.cluster).microseconds();
      const Band band = duration_band(log.cluster, point.size);
      kind.intervals.add(point.time_us, us * band.faster, us * band.slower);
    }
  }
  std::string table;
  for (const auto& one : kinds) {
    const std::string& name = one.first;
    const KindOfMachine& kind = one.second;
    CAPTURE(name);
    table += fmt::format("{:<18} {}, {} logs\n", name, kind.intervals.text(), kind.logs);
    CHECK(kind.intervals.share() >= 0.75);
  }
  MESSAGE("intervals of uncalibrated clusters, from 1 KiB\n" << table);
}
