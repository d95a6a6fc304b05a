// How NCCL runs the collectives of a cluster: what may be asked of it, and what to know of the answer.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/gloo.hpp"

namespace ddpsim {

/// Throws UsageError where this tuning sets what its NCCL does not have.
void require_of_nccl(const CollectiveTuning& tuning);

/// Throws UsageError when the cluster has nothing of what the tuning allows.
void require_choice(const Cluster& cluster, const CollectiveTuning& tuning);

/// That nobody measured this cluster, or nobody at this shape, at these sizes or with this NCCL.
std::vector<std::string> cluster_warnings(const Cluster& cluster, const CollectiveTuning& tuning,
                                          const std::vector<Bytes>& sizes);
/// Figures that are hardly meant, and how ranks are taken to lie on an oversubscribed network: another answer would hold
/// where these are wrong.
std::vector<std::string> decisive_warnings(const Cluster& cluster, Backend backend);
/// Sentences about a version whose tables are not known here.
std::vector<std::string> nccl_warnings(const CollectiveTuning& tuning);

}  // namespace ddpsim
