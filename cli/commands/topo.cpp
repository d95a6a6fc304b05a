#include <CLI/CLI.hpp>
#include <memory>

#include "cluster_arguments.hpp"
#include "commands.hpp"
#include "ddpsim/reports/topo_report.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "printing.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct TopoArguments {
  ClusterArguments cluster;
  bool json = false;
};

int run(const TopoArguments& arguments) {
  TopoReport report{.topology = load_topology(cluster_request(arguments.cluster)),
                    .bottleneck = {}};
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
  const auto arguments = std::make_shared<TopoArguments>();
  add_cluster_options(*command, arguments->cluster);
  add_json_option(*command, arguments->json);
  add_example(*command, "ddpsim topo dgxa100@4");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
