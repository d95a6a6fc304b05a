// Fills in what a workload does not state about memory.
#pragma once

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Looks for the bundled model with the workload's parameters. Sets the workload's activations if
/// that is an image model and the batch is known. Returns the requested optimizer, else the model's
/// usual one, else Adam.
OptimizerSetting know_memory(const MemoryRequest& request, Workload& workload);

}  // namespace ddpsim
