// How the ranks of a job differ, and what all of them lose.
#pragma once

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// Sets what was asked, which is certain; else the slowdown of the slowest of such GPUs and the other published slowdowns, with
/// their ranges. Throws UsageError for ranks that the cluster does not have.
void set_rank_differences(const VariationRequest& request, const Cluster& cluster,
                          SimulationOptions& options);

}  // namespace ddpsim
