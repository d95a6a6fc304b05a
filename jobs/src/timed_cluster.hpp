// The cluster of a job with what logs, recordings and --gloo say about it.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/jobs/build_job.hpp"

namespace ddpsim {

struct TimedCluster {
  Cluster cluster;
  CollectiveTuning tuning;
  GlooLinks gloo;
  bool calibrated_by_recording = false;
  std::vector<std::string> warnings;
};

/// Throws UsageError if the cluster has none of the algorithms that NCCL may choose.
TimedCluster timed_cluster(Cluster cluster, const CollectivesRequest& request, NcclVersion nccl,
                           const Workload& workload);

}  // namespace ddpsim
