// How long the host of a rank takes, from the request and from what workload and cluster state.
#pragma once

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Sets the costs that the workload states for its host and the cluster for its GPUs. When a CUDA
/// graph is replayed, the host launches nothing.
void set_host_costs(const HostRequest& request, const StatedCosts& of_host,
                    const StatedCosts& of_gpu, SimulationOptions& options);

}  // namespace ddpsim
