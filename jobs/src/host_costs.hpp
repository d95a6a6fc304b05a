// What the host of a rank takes, by what was asked and what workload and cluster state.
#pragma once

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Sets the costs that the workload states of its host and the cluster of its GPUs. Where a CUDA graph is replayed, the host
/// launches nothing.
void set_host_costs(const HostRequest& request, const StatedCosts& of_host,
                    const StatedCosts& of_gpu, SimulationOptions& options);

}  // namespace ddpsim
