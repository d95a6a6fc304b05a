// What a reader of the answer should know of its job: what the recording leaves open, what nobody
// measured, options that may not be what was meant.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/jobs/compute_transfer.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

std::vector<std::string> job_warnings(const Job& job, const CollectiveTuning& tuning,
                                      Backend backend, const ComputeScale& scale);

/// Why no cap can be recommended for this job; empty where one can.
std::string why_no_cap(const Job& job);

}  // namespace ddpsim
