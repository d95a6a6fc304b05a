#include <CLI/CLI.hpp>
#include <memory>

#include "cluster_arguments.hpp"
#include "commands.hpp"
#include "ddpsim/reports/topo_report.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct TopoArguments {
  ClusterArguments cluster;
  OutputArguments output;
};

int run(const TopoArguments& arguments) {
  TopoReport report{.topology = load_topology(cluster_request(arguments.cluster)),
                    .bottleneck = {}};
  if (report.topology.cluster.ranks() <= kMostFabricRanks) {
    report.bottleneck = find_bottleneck(build_fabric(report.topology));
  }
  deliver({.json = [&] { return topo_json(report); },
           .text = [&](const TerminalStyle& style) { return topo_text(report, style); }},
          arguments.output);
  return kOk;
}

}  // namespace

void add_topo(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("topo", "Show a cluster's links, NCCL channels and bottleneck");
  const auto arguments = std::make_shared<TopoArguments>();
  add_cluster_options(*command, arguments->cluster);
  add_form_options(*command, arguments->output);
  add_example(*command, "ddpsim topo dgxa100@4");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
