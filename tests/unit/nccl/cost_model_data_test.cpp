// Compares the uncalibrated cost model with real all_reduce_perf logs. Clusters are given by the
// one-line form; nothing is fitted here.
//
// DDPSIM_PIPELINE_ROWS=FILE writes what was compared; tests/accuracy/fit_cost_model.py reads it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "open_logs.hpp"

using namespace ddpsim;

namespace {

/// Kinds of machines that are measured and reported separately.
enum class Kind { nvlink_node, pcie_node, network };

struct Log : open_logs::Log {
  Kind kind() const {
    if (cluster.nodes > 1) return Kind::network;
    return cluster.intra.kind == IntraKind::pcie ? Kind::pcie_node : Kind::nvlink_node;
  }
};

struct ModelRow {
  Bytes size;
  double measured_us = 0;
};

/// Curves without times have bandwidths: time = size / algbw.
std::vector<ModelRow> read_rows(const std::filesystem::path& path) {
  std::vector<ModelRow> rows;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const bool timed = line.starts_with("size_bytes,time_us");
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string size;
    std::string second;
    if (!std::getline(cells, size, ',') || !std::getline(cells, second, ',') || second.empty()) {
      continue;
    }
    const Bytes bytes(std::stoll(size));
    const double value = std::stod(second);
    rows.push_back({bytes, timed ? value : static_cast<double>(bytes.count()) / value / 1e3});
  }
  return rows;
}

struct ModelErrors {
  std::vector<std::pair<double, std::string>> of;

  void add(double predicted, double measured, const std::string& name) {
    of.emplace_back(std::abs(predicted - measured) / measured, name);
  }
  std::vector<double> sizes() const {
    std::vector<double> out;
    for (const auto& [size, name] : of) out.push_back(size);
    return out;
  }
  double middle() const { return of.empty() ? 0 : median(sizes()); }
  double p90() const { return of.empty() ? 0 : quantile(sizes(), 0.9); }
  std::string text() const {
    if (of.empty()) return "no rows";
    const auto& [size, name] = *std::max_element(of.begin(), of.end());
    return fmt::format("median {:5.1f} %  p90 {:6.1f} %  worst {:6.1f} % ({})", 100 * middle(),
                       100 * p90(), 100 * size, name);
  }
};

struct ModelBeside {
  ModelErrors model, trivial, nccl;
};

}  // namespace

TEST_CASE(
    "pipeline cost model: cost of a message on a TCP connection, from open logs over sockets") {
  const std::filesystem::path folder = files::shared_file("data/nccl-tests");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  for (const open_logs::Log& open : open_logs::stated()) {
    if (open.slug != "p3dn-tcp-n2g1" && open.slug != "polaris-a100-tcp-n2g4") continue;
    const Log log{open};
    double squares = 0;
    int rows = 0;
    for (const ModelRow& row : read_rows(folder / (log.slug + ".csv"))) {
      const auto choice =
          select_algorithm(CollectiveKind::all_reduce, row.size, log.cluster, log.tuning());
      if (choice.protocol != Protocol::simple || row.size.count() < (1 << 18)) continue;
      const double model =
          cost(CollectiveKind::all_reduce, choice, row.size, log.cluster).microseconds();
      squares += std::pow(std::log(model / row.measured_us), 2);
      ++rows;
    }
    const double error = std::sqrt(squares / rows);
    MESSAGE(log.slug << ": root mean square of log(model / measured) " << error << " of " << rows);
    CHECK(error < 0.13);  // without the term 0.15 and 0.25
  }
}

TEST_CASE("pipeline cost model: open logs") {
  const std::filesystem::path folder = files::shared_file("data/nccl-tests");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the measured logs are not here");
    return;
  }
  std::ofstream dump;
  if (const char* path = std::getenv("DDPSIM_PIPELINE_ROWS")) {
    dump.open(path);
    dump << "slug,kind,nodes,gpus,capability,intra,per_gpu,network,nics,per_nic,"
            "nccl,algorithm,protocol,channels,size,measured_us,modelled_us,nccl_us,constant_us,"
            "peers,to_host\n";
  }
  constexpr const char* kNames[] = {"one NVLink node", "one PCIe node", "network"};
  ModelBeside large[3];
  ModelBeside all[3];
  std::string per_log;
  for (const open_logs::Log& open : open_logs::stated()) {
    const Log log{open};
    ModelBeside mine;
    for (const ModelRow& row : read_rows(folder / (log.slug + ".csv"))) {
      const Cluster& cluster = log.cluster;
      const auto choice =
          select_algorithm(CollectiveKind::all_reduce, row.size, cluster, log.tuning());
      const double model =
          cost(CollectiveKind::all_reduce, choice, row.size, cluster).microseconds();
      const double estimate = choice.nccl_estimate.microseconds();
      const auto kind = static_cast<std::size_t>(log.kind());
      const std::string name = fmt::format("{} at {} B", log.slug, row.size.count());
      const auto add = [&](ModelBeside& to) {
        to.model.add(model, row.measured_us, name);
        to.trivial.add(open_logs::constant_efficiency_us(cluster, row.size), row.measured_us, name);
        to.nccl.add(estimate, row.measured_us, name);
      };
      add(all[kind]);
      if (row.size.count() >= (1 << 20)) {
        add(large[kind]);
        add(mine);
      }
      if (dump.is_open()) {
        dump << fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", log.slug, kind,
            cluster.nodes, cluster.gpus_per_node, cluster.gpu.compute_capability,
            static_cast<int>(cluster.intra.kind), cluster.intra.per_gpu.gigabytes_per_second(),
            static_cast<int>(cluster.network.kind), cluster.network.nics_per_node,
            cluster.network.per_nic.gigabytes_per_second(), to_string(choice.nccl),
            name_of(choice.algorithm), name_of(choice.protocol), choice.channels, row.size.count(),
            row.measured_us, model, estimate, open_logs::constant_efficiency_us(cluster, row.size),
            kind_word(cluster.intra.peers), cluster.intra.to_host.gigabytes_per_second());
      }
    }
    per_log += fmt::format("{:32} {}\n", log.slug, mine.model.text());
  }
  MESSAGE("model at 1 MiB and above, by log\n" << per_log);
  for (std::size_t kind = 0; kind < 3; ++kind) {
    MESSAGE(std::string(kNames[kind]) << "\n  from 1 MiB  model       " << large[kind].model.text()
                                      << "\n              constant  " << large[kind].trivial.text()
                                      << "\n              NCCL's    " << large[kind].nccl.text()
                                      << "\n  all sizes   model       " << all[kind].model.text()
                                      << "\n              constant  " << all[kind].trivial.text()
                                      << "\n              NCCL's    " << all[kind].nccl.text());
  }
  // Limits measured for these constants, rounded up. The logs took part in the fit. For clusters
  // that did not, see the script's leave-one-out results.
  const auto within = [](ModelErrors& errors, double median, double p90) {
    CHECK(errors.middle() < median);
    CHECK(errors.p90() < p90);
  };
  within(large[0].model, 0.04, 0.17);
  within(all[0].model, 0.11, 0.55);
  within(large[1].model, 0.11, 0.22);
  within(all[1].model, 0.18, 0.50);
  // It was 0.42 while the table of 2.21 was used for 2.23. It chose rings of LL, which Alps does
  // not run. They were closer to Alps's trees than a hop learned from three sites of Slingshot.
  within(large[2].model, 0.13, 0.53);
  within(all[2].model, 0.23, 0.80);
  for (std::size_t kind = 0; kind < 3; ++kind) {
    CHECK(large[kind].model.middle() < large[kind].nccl.middle());
    CHECK(large[kind].model.middle() < large[kind].trivial.middle());
  }
}
