// Where a job's batches come from, and how many there are.
#pragma once

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Throws UsageError if `request` lists a different number of ranks.
UnevenInputs uneven_inputs(const UnevenRequest& request, int ranks);

/// Sets the loader, data set and uneven inputs of `options`. Throws InputError if an option counts
/// samples and the workload does not state its batch. Throws UsageError for inputs of a different
/// number of ranks, and for batches that take too long.
void set_batches(const JobRequest& request, const Workload& workload, const Cluster& cluster,
                 SimulationOptions& options);

}  // namespace ddpsim
