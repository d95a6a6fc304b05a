// What a reader of the answer should know about its job: what the recording leaves open, what
// nobody measured, and options that may not be meant.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

std::vector<std::string> job_warnings(const Job& job, const ComputeScale& scale);

/// Returns warnings about a version whose rules are not known here, and about caps that look like
/// bytes.
std::vector<std::string> ddp_warnings(const DdpOptions& options, TorchVersion torch);

/// Why no cap can be recommended for this job. Empty if one can.
std::string why_no_cap(const Job& job);

}  // namespace ddpsim
