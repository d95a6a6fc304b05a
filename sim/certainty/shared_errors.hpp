// Which errors two jobs share. This depends on what the error belongs to, not on the names of the
// clusters.
#pragma once

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// How much two clusters have in common in the hardware that their collectives use, at their
/// numbers of nodes.
enum class Kinship {
  none,
  /// Nodes with the same kinds of GPUs, links and NICs, but in different numbers or with different
  /// rates.
  same_kind,
  same_nodes,  ///< the same nodes and NICs, any number
};
Kinship kinship(const Cluster& a, const Cluster& b);

/// Whether both are calibrated by the same logs, or neither is calibrated.
bool have_same_calibration(const Cluster& a, const Cluster& b);

/// The share, from 0 to 1, of this error's variance that one workload has in common on both
/// clusters.
double shared_share(ErrorSource source, const Cluster& a, const Cluster& b);

/// Whether the error is independent for two workloads on one cluster. Otherwise it belongs to the
/// cluster, its GPUs, NCCL or PyTorch, and both workloads share it.
bool belongs_to_workload(ErrorSource source);

}  // namespace ddpsim
