// What the host of a rank takes, by what was asked and what workload and cluster state.
#pragma once

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// A workload states costs of its host, a cluster of its GPUs; of what a CUDA graph replays the host launches nothing.
void set_host_costs(const HostRequest& request, const StatedCosts& of_host,
                    const StatedCosts& of_gpu, SimulationOptions& options);

}  // namespace ddpsim
