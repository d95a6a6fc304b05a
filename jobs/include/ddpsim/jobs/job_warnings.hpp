// What a reader of the answer should know of its job: what the recording leaves open, what nobody
// measured, options that may not be what was meant.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

std::vector<std::string> job_warnings(const Job& job, const ComputeScale& scale);

/// Returns sentences about a version whose rules are not known here, and about caps that look like bytes.
std::vector<std::string> ddp_warnings(const DdpOptions& options, TorchVersion torch);

/// Why no cap can be recommended for this job; empty where one can.
std::string why_no_cap(const Job& job);

}  // namespace ddpsim
