// Which error of one job is an error of another, too: by the thing it is an error of, whatever names the clusters have.
#pragma once

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// How much two clusters have of what their collectives pass in common, at the numbers of nodes they have.
enum class Kinship {
  none,
  same_kind,   ///< nodes of the same GPUs, links and NICs, but others in number or rate
  same_nodes,  ///< the same nodes and NICs, however many
};
Kinship kinship(const Cluster& a, const Cluster& b);

/// Calibrated by the same logs, or by none.
bool is_calibrated_alike(const Cluster& a, const Cluster& b);

/// The share, from 0 to 1, of the variance of an error of this source that is one and the same for a workload on both.
double shared_share(ErrorSource source, const Cluster& a, const Cluster& b);

/// Of two workloads on one cluster: each errs by itself. Else it is of the cluster, its GPUs, NCCL or PyTorch, one for both.
bool belongs_to_workload(ErrorSource source);

}  // namespace ddpsim
