// Which PyTorch and which NCCL a job runs, as far as anything says so.
#pragma once

#include <vector>

#include "ddpsim/jobs/job_request.hpp"
#include "ddpsim/sim/values/possible_versions.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

struct VersionsInForce {
  TorchInForce torch;
  NcclVersion nccl;
  std::vector<VersionRange> possible;  ///< where nothing says which PyTorch; else empty
};

VersionsInForce versions_in_force(const JobRequest& request, const Workload& workload,
                                  const Cluster& cluster);

}  // namespace ddpsim
