#include "ddpsim/sim/values/launch_cost.hpp"

namespace ddpsim {

std::string_view word_of(LaunchCostFrom from) {
  switch (from) {
    case LaunchCostFrom::option:
      return "option";
    case LaunchCostFrom::recording:
      return "recording";
    case LaunchCostFrom::assumed:
      break;
  }
  return "default";
}

LaunchCost launch_cost(const Launches& launches, const SimulationOptions& options) {
  if (launches.cost && !options.launch_cost_known)
    return {.each = *launches.cost, .from = LaunchCostFrom::recording};
  const Duration each = options.costs.host_kernel;
  return {.each = {.forward = each, .backward = each, .optimizer = each},
          .from = options.launch_cost_known ? LaunchCostFrom::option : LaunchCostFrom::assumed};
}

}  // namespace ddpsim
