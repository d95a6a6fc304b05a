// From the GPU and batch a workload was recorded with to those of the question.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Throws UsageError where an option names a GPU with a suffix that no variant has.
void require_gpu_name(const char* option, const std::string& name);

struct ComputeTransfer {
  Workload workload;
  ComputeScale scale;
  std::vector<std::string> warnings;
};

/// The workload as the cluster's GPU runs it, where it was recorded on another, or with another batch than asked for: by a stated
/// scale as a whole, otherwise layer by layer, which needs a model of the catalogue. `source`: the workload as asked for, for
/// messages. Throws InputError or UsageError.
ComputeTransfer transfer_compute(Workload workload, const std::string& source,
                                 const ComputeRequest& request, const Cluster& cluster);

}  // namespace ddpsim
