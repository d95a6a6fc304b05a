#include "host_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"

namespace ddpsim {
namespace {

constexpr Duration kMostLaunchCost = Duration::microseconds(1000);

Duration parse_launch_cost(const std::string& text) {
  const Parsed<Duration> parsed = parse_duration(text);
  if (!parsed.value) throw UsageError("--launch-cost: " + parsed.problem);
  if (*parsed.value < Duration() || *parsed.value > kMostLaunchCost)
    throw UsageError(fmt::format("--launch-cost: \"{}\" is not a time from 0us to 1ms", text));
  return *parsed.value;
}

/// Replayed as one, with collectives and copies inside: nothing is launched in between.
DdpCosts in_a_graph(DdpCosts costs) {
  for (Duration* cost :
       {&costs.host_hook, &costs.host_launch, &costs.host_comm_hook, &costs.host_kernel,
        &costs.host_copy_kernel, &costs.host_hook_kernel, &costs.host_step, &costs.host_step_kernel,
        &costs.host_python_hook, &costs.host_module_hook, &costs.host_unit_hook})
    *cost = Duration();
  costs.launch_latency = costs.event_latency;
  return costs;
}

}  // namespace

void add_host_options(CLI::App& command, HostArguments& arguments) {
  const HelpGroup group(command, kVariationGroup);
  command.add_option(
      "--launch-cost", arguments.launch_cost,
      "what the host takes to launch one of the model's kernels, where the workload counts "
      "them, as an estimate does (default: 16us)");
  command.add_flag("--cuda-graph", arguments.cuda_graph,
                   "the whole step is captured in a CUDA graph: the host launches it once");
}

void set_host_costs(const HostArguments& arguments, SimulationOptions& options) {
  if (arguments.launch_cost) {
    if (arguments.cuda_graph)
      throw UsageError("--launch-cost: a --cuda-graph launches no kernel by itself; leave one out");
    options.costs.host_kernel = parse_launch_cost(*arguments.launch_cost);
    options.launch_cost_known = true;
  }
  if (!arguments.cuda_graph) return;
  if (stops_backward(options.ddp.comm_hook))
    throw UsageError(
        "--cuda-graph: a graph cannot hold what --comm-hook powersgd waits for on the host; leave "
        "one "
        "out");
  if (options.ddp.comm_hook == CommHook::post_local_sgd)
    throw UsageError(
        "--cuda-graph: a graph holds the addresses of parameters, which --comm-hook post_localSGD "
        "moves when it averages them; leave one out");
  if (options.ddp.find_unused_parameters)
    throw UsageError(
        "--cuda-graph: a graph cannot hold what --find-unused-parameters reads on the host; leave "
        "one out");
  options.costs = in_a_graph(options.costs);
  options.launch_cost_known = true;
}

void take_stated_costs(const HostArguments& arguments, const StatedCosts& of_host,
                       const StatedCosts& of_gpu, SimulationOptions& options) {
  StatedCosts& stated = options.stated_costs;
  stated = of_gpu;
  if (arguments.cuda_graph)  // the host launches nothing
    std::erase_if(stated, [](const StatedCost& cost) {
      return cost.field->time == &DdpCosts::launch_latency;
    });
  else
    stated.insert(stated.end(), of_host.begin(), of_host.end());
  state(options.costs, stated);
  if (arguments.cuda_graph) options.costs = in_a_graph(options.costs);
}

}  // namespace ddpsim
