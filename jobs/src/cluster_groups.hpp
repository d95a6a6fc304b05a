// The cluster of a job, with the process groups that the job sends in.
#pragma once

#include "ddpsim/jobs/build_job.hpp"

namespace ddpsim {

/// Throws InputError, or UsageError where --sync-batchnorm-group does not divide it.
Cluster cluster_with_groups(const JobRequest& request, const ClusterReaders& readers);

}  // namespace ddpsim
