// One training step: (workload, cluster, options) -> result. A pure function: same input, same
// bits.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/collective_model.hpp"
#include "ddpsim/sim/result.hpp"
#include "ddpsim/sim/simulation_options.hpp"
#include "ddpsim/sim/workload.hpp"

namespace ddpsim {

/// Ranks that differ are simulated one by one: no more of them than this.
inline constexpr int kMostDifferentRanks = 65536;

/// Speed of the cluster's compute relative to the recording's: scale and pace together.
double compute_speed(const Workload& workload, const Cluster& cluster,
                     const SimulationOptions& options);

/// Why the workload cannot be simulated on the cluster with these options (unknown shapes, no
/// timing, …), with the option that would help; absent when it can.
std::optional<std::string> cannot_simulate(const Workload& workload, const Cluster& cluster,
                                           const SimulationOptions& options);

/// Precondition: cannot_simulate(...) is absent.
SimulationResult simulate(const Workload& workload, const Cluster& cluster,
                          const SimulationOptions& options, const CollectiveModel& model);

/// The steady step's times alone; the same numbers as simulate(...).step.times, for sweeps.
StepTimes simulate_times(const Workload& workload, const Cluster& cluster,
                         const SimulationOptions& options, const CollectiveModel& model);

}  // namespace ddpsim
