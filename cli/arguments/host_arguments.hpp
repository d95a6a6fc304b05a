// What the host of a rank takes to launch kernels: --launch-cost, --cuda-graph.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/simulation_options.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct HostArguments {
  std::optional<std::string> launch_cost;
  bool cuda_graph = false;
};

void add_host_options(CLI::App& command, HostArguments& arguments);

/// Throws UsageError.
void set_host_costs(const HostArguments& arguments, SimulationOptions& options);
/// What a workload states of its host and a cluster of its GPUs; of what a CUDA graph replays the host launches nothing.
void take_stated_costs(const HostArguments& arguments, const StatedCosts& of_host,
                       const StatedCosts& of_gpu, SimulationOptions& options);

}  // namespace ddpsim
