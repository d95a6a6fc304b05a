// What a workload does not say of memory.
#pragma once

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// From the model of the catalogue with its parameters: how much forward keeps for backward, where it is a model of images at a
/// known batch, and the usual optimizer; Adam for all others.
OptimizerSetting know_memory(const MemoryRequest& request, Workload& workload);

}  // namespace ddpsim
