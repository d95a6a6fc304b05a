#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"
#include "ddpsim/reports/topo_report.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "exit_code.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct Arguments {
  ClusterRequest cluster;
  bool json = false;
};

int run(const Arguments& arguments) {
  TopoReport report{.topology = load_topology(arguments.cluster), .bottleneck = {}};
  if (report.topology.cluster.ranks() <= kMostFabricRanks) {
    report.bottleneck = find_bottleneck(build_fabric(report.topology));
  }
  print(arguments.json ? topo_json(report) : topo_text(report, terminal_style()));
  return kOk;
}

}  // namespace

void add_topo(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("topo", "the cluster as summary, matrix, tree, channels, bottleneck");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option(
          "CLUSTER", arguments->cluster.text,
          "bundled name, cluster file, NCCL topology XML, nvidia-smi topo -m matrix (words "
          "beside a file complete it: \"matrix.txt gpu:A100 node:4 nic:200Gbps:ib\"), or a "
          "one-line cluster")
      ->required();
  command->add_option("--nodes", arguments->cluster.nodes, "number of nodes");
  command->add_option("--gpus-per-node", arguments->cluster.gpus_per_node,
                      "GPUs 0..G-1 of each node are kept");
  command->add_flag("--json", arguments->json, "one JSON document on stdout, nothing else there");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
