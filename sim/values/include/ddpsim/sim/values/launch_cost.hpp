// Host time to launch one of the model's kernels.
#pragma once

#include <string_view>

#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Where the value comes from: the user, the recording (including the profiler's share, if one
/// ran), or an assumption from other hosts.
enum class LaunchCostFrom { option, recording, assumed };
/// "option", "recording", "default".
std::string_view word_of(LaunchCostFrom from);

struct LaunchCost {
  PartTimes each;
  LaunchCostFrom from = LaunchCostFrom::assumed;
};

/// The cost of one launch in each part of the step.
LaunchCost launch_cost(const Launches& launches, const SimulationOptions& options);

}  // namespace ddpsim
