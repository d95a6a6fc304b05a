// The PyTorch and NCCL versions that a job runs, as far as anything states them.
#pragma once

#include <vector>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/values/possible_versions.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

struct VersionsInForce {
  TorchInForce torch;
  NcclVersion nccl;
  /// Filled in only if nothing states the PyTorch version.
  std::vector<VersionRange> possible;
};

VersionsInForce versions_in_force(const JobRequest& request, const Workload& workload,
                                  const Cluster& cluster);

}  // namespace ddpsim
