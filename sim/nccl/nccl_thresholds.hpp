// NCCL before 2.5 had no table of times. It compared sizes with thresholds:
//
// - Two nodes of GPUs with NVLink use a tree for an all-reduce of any size.
// - Others use a tree up to ring * tree / (ring - tree) * (ring latency - tree latency), if rings
//   are slower.
// - Ring latency = 6 us (n - 1), tree latency = 15 us log2(N) + 4 us (g - 1).
// - Ring rate = 5000 bytes per us and channel with NVLink, 5000 in total without. The tree has 3/4
//   or 2/3 of it.
// - LL is used up to 64 bytes per thread, channel and, in a ring, rank. Before Volta it is 32. It
//   doubles over several nodes, and is four times as much in a tree.
//
// Symbols: n ranks, N nodes, g GPUs per node. 2.4 was the first version with trees, 2.5 the first
// with LL128. Source: NCCL 2.4's init.cc (ncclTreeThreshold), enqueue.cc (getKernelInfo), core.h. A
// log of 2.4.6 on two nodes of eight V100, with trees switched off, shows the two channels and LL
// up to 1 MiB.
#pragma once

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

bool selects_by_thresholds(NcclVersion nccl);

/// Size of the largest all-reduce that uses a tree; 0 if none does.
Bytes tree_threshold(const Cluster& cluster, const CollectiveTuning& tuning);

/// The choice for a size, as far as settings allow it, without nccl_estimate, which did not exist.
/// Precondition: more than one rank, and a version that selects by thresholds.
CollectiveChoice select_by_thresholds(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                      const CollectiveTuning& tuning);

}  // namespace ddpsim
