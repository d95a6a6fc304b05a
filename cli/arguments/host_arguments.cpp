#include "host_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/sim/values/ddp_costs.hpp"
#include "help_group.hpp"

namespace ddpsim {
namespace {

constexpr Duration kMostLaunchCost = Duration::microseconds(1000);

Duration parse_launch_cost(const std::string& text) {
  const Parsed<Duration> parsed = parse_duration(text);
  if (!parsed.value) throw UsageError("--launch-cost", parsed.problem);
  if (*parsed.value < Duration() || *parsed.value > kMostLaunchCost)
    throw UsageError("--launch-cost", fmt::format("\"{}\" is not a time from 0us to 1ms", text));
  return *parsed.value;
}

}  // namespace

void add_host_options(CLI::App& command, HostArguments& arguments) {
  const HelpGroup group(command, kVariationGroup);
  command
      .add_option(
          "--launch-cost", arguments.launch_cost,
          fmt::format("Set the host's time to call an operator and launch its kernel, if the "
                      "workload counts launches as estimates do (default: {:.0f}us)",
                      DdpCosts().host_kernel.microseconds()))
      ->type_name("TIME");
  command.add_flag("--cuda-graph", arguments.cuda_graph,
                   "Capture the whole step in a CUDA graph, which the host launches once");
}

HostRequest host_request(const HostArguments& arguments) {
  HostRequest request{.launch_cost = {}, .cuda_graph = arguments.cuda_graph};
  if (arguments.launch_cost) request.launch_cost = parse_launch_cost(*arguments.launch_cost);
  return request;
}

}  // namespace ddpsim
