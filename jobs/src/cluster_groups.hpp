// The cluster of a job with the process groups that the job uses.
#pragma once

#include "ddpsim/jobs/build_job.hpp"

namespace ddpsim {

/// Throws InputError, or UsageError if --sync-batchnorm-group does not divide the cluster.
Cluster cluster_with_groups(const JobRequest& request, const ClusterReaders& readers);

}  // namespace ddpsim
