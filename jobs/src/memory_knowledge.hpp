// Fills in what a workload does not state about memory.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Looks for the bundled model with the workload's parameters. Sets the workload's activations if
/// that is an image model and the batch is known. Returns the requested optimizer, else the one that
/// an estimate states, else the model's usual one, else Adam.
OptimizerSetting know_memory(const MemoryRequest& request, Workload& workload);

/// Says that an estimate was timed with another optimizer than --optimizer names.
std::optional<std::string> other_optimizer_warning(const MemoryRequest& request,
                                                   const Workload& workload);

}  // namespace ddpsim
