// Post-local SGD: post_localSGD_hook with a PeriodicModelAverager (post_localSGD_hook.py,
// averagers.py, utils.py). The code is the same in 1.13 and 2.13. Only steps after
// start_localSGD_iter are simulated.
//
// In every step, each bucket is divided in place by the GPUs of its node and all-reduced among them
// (dist.new_subgroups()). With post_local_gradient_allreduce=False it is left as it is.
//
// In every period-th step, an averaging follows the optimizer:
// - All parameters that have a gradient are flattened into one tensor of their common type and
//   divided.
// - The host waits for the device.
// - One all-reduce runs over all ranks, and the parameters become views of the tensor.
//
// Nothing overlaps an averaging, and the steps between two averagings are the same. The simulated
// step is therefore the mean over a period:
//
//   step + (flatten + divide + host + all-reduce) / period
//
// Under the scheme local_sgd, ranks reduce no gradients at all. HierarchicalModelAverager
// (hierarchical_model_averager.py, 2.13) averages within groups of consecutive ranks, and each
// level has its own period. If several periods end in the same step, only the largest group
// averages.
//
// SlowMo (fairscale/experimental/nn/data_parallel/gossip/distributed.py) adds to local SGD, also
// after the optimizer:
// - Every localsgd_frequency-th step: parameters are divided one by one and flattened. One GPU of
//   each node all-reduces them, they are copied back, and broadcast within the node. This is left
//   out if slow momentum in shards follows in the same step.
// - Every slowmo_frequency-th step, in shards: parameters are divided one by one. Each shard is
//   reduced to its owner, its momentum is stepped, and it is broadcast.
// - Every slowmo_frequency-th step, without shards: every rank steps the momentum of all
//   parameters.
// Shards are of equal size and follow one another. The owner's step reads three tensors and writes
// three.
//
// Nodes wait for each other only in an averaging (under the scheme local_sgd, this holds for
// ranks). The ranks of a node wait for each other in every step. Lasting differences between ranks
// add up until the averaging, so a step still waits for the slowest rank. Differences that change
// from step to step (--jitter) even out over a period; for them the result is an upper bound.
//
// Two effects are left out. Python loops over the parameters, mostly during the all-reduce. And the
// host is no longer ahead when the next forward begins.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "comm_hook.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// The tensor that is averaged, made of all parameters that get a gradient.
struct FlatParameters {
  Bytes bytes;
  /// Size of the parameters in their own types, as they are copied into the tensor.
  Bytes moved;
  /// Part of `moved` whose type is narrower than the tensor's. These parameters stay outside it.
  Bytes of_others;
  Bytes largest_other;
  std::int64_t others = 0;
};
FlatParameters flat_parameters(const Workload& workload);

/// Share of steps in which this level's period ends and no higher level's does: 1/period, less the
/// steps shared with higher levels, by inclusion and exclusion.
double share_of_steps(std::int64_t period, std::span<const AveragingLevel> higher);

/// Absent unless the job runs SlowMo or local SGD, the latter as a communication hook or as a
/// scheme.
std::optional<ModelAveraging> model_averaging(const Job& job, const KernelCosts& kernels);

/// Says why local SGD cannot be simulated with this cluster, its links or its ranks.
std::optional<std::string> cannot_average(const Job& job);

BucketHook local_sgd_hook(const Job& job, const KernelCosts& kernels, const Bucket& bucket);

}  // namespace ddpsim
