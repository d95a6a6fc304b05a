// Where a job's batches come from, and how many there are.
#pragma once

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Throws UsageError where `request` lists other ranks than there are.
UnevenInputs uneven_inputs(const UnevenRequest& request, int ranks);

/// Sets `options`' loader, data set and uneven inputs. Throws InputError where something counts samples and the workload does not
/// say how many a batch has, UsageError for inputs of other ranks than the cluster's and for batches that take too long.
void set_batches(const JobRequest& request, const Workload& workload, const Cluster& cluster,
                 SimulationOptions& options);

}  // namespace ddpsim
