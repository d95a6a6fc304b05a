// How the collectives of a job are timed.
#pragma once

#include "ddpsim/sim/collectives/collective_model.hpp"
#include "timed_cluster.hpp"

namespace ddpsim {

/// Throws UsageError for rates so slow that the step would be too long to represent, and InputError
/// for a bad background file.
CollectiveModel collective_model(const TimedCluster& timed, const JobRequest& request,
                                 const Workload& workload, const ClusterReaders& readers);

}  // namespace ddpsim
