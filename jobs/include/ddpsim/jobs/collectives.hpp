// How NCCL runs the collectives of a cluster: what a user may ask for, and what to know about the
// answer.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/gloo.hpp"

namespace ddpsim {

/// Throws UsageError if the tuning sets something that its NCCL version lacks.
void require_of_nccl(const CollectiveTuning& tuning);

/// Throws UsageError if the cluster has none of the algorithms that the tuning allows.
void require_choice(const Cluster& cluster, const CollectiveTuning& tuning);

/// Warns if nobody measured this cluster, or nobody at this shape, at these sizes or with this NCCL
/// version.
std::vector<std::string> cluster_warnings(const Cluster& cluster, const CollectiveTuning& tuning,
                                          const std::vector<Bytes>& sizes);
/// Warns about values that are hardly meant, and about the assumed placement of ranks on an
/// oversubscribed network. If these are wrong, so is the answer.
std::vector<std::string> decisive_warnings(const Cluster& cluster, Backend backend);
/// Warns about a version whose tables are not known here.
std::vector<std::string> nccl_warnings(const CollectiveTuning& tuning);

}  // namespace ddpsim
