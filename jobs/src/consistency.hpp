// Checks for parts of a request that contradict each other or the NCCL version.
#pragma once

#include "ddpsim/jobs/collectives.hpp"
#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Throws UsageError if the request uses something that this NCCL version lacks.
void require_of_nccl(const JobRequest& request, NcclVersion nccl);

}  // namespace ddpsim
