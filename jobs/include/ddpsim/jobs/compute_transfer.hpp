// Carries compute over from the recorded GPU and batch to the requested ones.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {

/// Throws UsageError if an option names a GPU with a suffix that no variant has.
void require_gpu_name(const char* option, const std::string& name);

struct ComputeTransfer {
  Workload workload;
  ComputeScale scale;
  std::vector<std::string> warnings;
};

/// The workload as the cluster's GPU runs it, if it was recorded on another GPU or with another
/// batch. A stated scale applies to the workload as a whole. Otherwise it is carried over layer by
/// layer, which needs a model of the catalogue. `source` is the requested workload, for messages.
/// Throws InputError or UsageError.
ComputeTransfer transfer_compute(Workload workload, const std::string& source,
                                 const ComputeRequest& request, const Cluster& cluster);

}  // namespace ddpsim
