// What a host takes to launch one of the model's kernels.
#pragma once

#include <string_view>

#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Who says so: the user, the recording (under the profiler, whose share it holds), or what other hosts take.
enum class LaunchCostFrom { option, recording, assumed };
/// "option", "recording", "default".
std::string_view word_of(LaunchCostFrom from);

struct LaunchCost {
  PartTimes each;
  LaunchCostFrom from = LaunchCostFrom::assumed;
};

/// Of these launches under these options.
LaunchCost launch_cost(const Launches& launches, const SimulationOptions& options);

}  // namespace ddpsim
