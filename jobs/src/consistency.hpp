// Parts of a request that contradict each other, or the NCCL that runs.
#pragma once

#include "ddpsim/jobs/collectives.hpp"
#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Throws UsageError where the request uses what this NCCL does not have.
void require_of_nccl(const JobRequest& request, NcclVersion nccl);

}  // namespace ddpsim
