#include "host_costs.hpp"

namespace ddpsim {
namespace {

/// Costs when the step is replayed as one graph with collectives and copies inside: nothing is
/// launched in between.
DdpCosts in_a_graph(DdpCosts costs) {
  for (Duration* cost : {&costs.host_hook, &costs.host_launch, &costs.host_comm_hook,
                         &costs.host_kernel, &costs.host_copy_kernel, &costs.host_hook_kernel,
                         &costs.host_step, &costs.host_step_kernel, &costs.host_unit_hook})
    *cost = Duration();
  costs.zero = ZeroHost::nothing();
  costs.launch_latency = costs.event_latency;
  return costs;
}

}  // namespace

void set_host_costs(const HostRequest& request, const StatedCosts& of_host,
                    const StatedCosts& of_gpu, SimulationOptions& options) {
  options.launch_cost_known = request.launch_cost || request.cuda_graph;
  if (request.launch_cost) options.costs.host_kernel = *request.launch_cost;
  StatedCosts& stated = options.stated_costs;
  stated = of_gpu;
  if (request.cuda_graph)  // the host launches nothing
    std::erase_if(stated, [](const StatedCost& cost) {
      return cost.field->time == &DdpCosts::launch_latency;
    });
  else
    stated.insert(stated.end(), of_host.begin(), of_host.end());
  state(options.costs, stated);
  if (request.cuda_graph) options.costs = in_a_graph(options.costs);
}

}  // namespace ddpsim
