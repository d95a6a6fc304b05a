// NCCL before 2.5 compared sizes with thresholds: it had no table of times to take the smallest of.
//
//   tree for an all-reduce of at most
//       all sizes                                two nodes of GPUs with NVLink
//       ring * tree / (ring - tree) * (ring latency - tree latency)   else, where rings are slower
//     ring latency = 6 us (n - 1),  tree latency = 15 us log2(N) + 4 us (g - 1)
//     ring = 5000 bytes per us and channel with NVLink, 5000 in all without; tree = 3/4, 2/3 of it
//   LL for at most 64 bytes (before Volta 32; twice that over several nodes; four times that in a
//     tree) per thread, channel and, in a ring, rank
//
// n ranks, N nodes, g GPUs per node. 2.4 was the first with trees, 2.5 the first with LL128.
// Source: NCCL 2.4's init.cc (ncclTreeThreshold), enqueue.cc (getKernelInfo), core.h. A log of 2.4.6
// on two nodes of eight V100, its trees switched off, shows the two channels and LL up to 1 MiB.
#pragma once

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

bool selects_by_thresholds(NcclVersion nccl);

/// Largest all-reduce that takes a tree; 0 where none does.
Bytes tree_threshold(const Cluster& cluster, const CollectiveTuning& tuning);

/// What each size takes as far as settings leave it; without nccl_estimate, for there was none.
/// Precondition: more than one rank, a version that chooses so.
CollectiveChoice select_by_thresholds(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                      const CollectiveTuning& tuning);

}  // namespace ddpsim
