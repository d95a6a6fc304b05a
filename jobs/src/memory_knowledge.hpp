// What a workload does not say of memory.
#pragma once

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Looks for the bundled model that has the workload's parameters. Sets the activations of the workload where that is a model of
/// images and the batch is known. Returns the optimizer asked for, else the model's usual one, else Adam.
OptimizerSetting know_memory(const MemoryRequest& request, Workload& workload);

}  // namespace ddpsim
