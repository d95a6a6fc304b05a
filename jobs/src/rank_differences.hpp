// How the ranks of a job differ, and the overhead of all of them.
#pragma once

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// Sets the requested values, which are certain. Otherwise sets the slowdown of the slowest GPU of
/// this kind and the other published slowdowns, with their ranges. Throws UsageError for ranks that
/// the cluster does not have.
void set_rank_differences(const VariationRequest& request, const Cluster& cluster,
                          SimulationOptions& options);

}  // namespace ddpsim
