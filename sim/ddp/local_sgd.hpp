// Post-local SGD: post_localSGD_hook with a PeriodicModelAverager (post_localSGD_hook.py, averagers.py, utils.py; alike in
// 1.13 and 2.13), once start_localSGD_iter is past.
//
//   every step       each bucket divided in place by the GPUs of its node and all-reduced among them
//                    (dist.new_subgroups()), or left as it is (post_local_gradient_allreduce=False)
//   every period-th  behind the optimizer: all parameters that have a gradient flattened into one tensor of their common
//                    type, divided, the host waits for the device, one all-reduce over all ranks; parameters become
//                    views of that tensor
//
// Nothing runs beside an averaging and steps in between are alike, so the mean of a period is what is simulated:
//
//   step + (flatten + divide + host + all-reduce) / period
//
// As a scheme (local_sgd) ranks reduce no gradients at all. HierarchicalModelAverager (hierarchical_model_averager.py, 2.13) does the same
// in groups of ranks that follow each other, each level in its own period; where several periods come round the largest
// group alone averages.
//
// SlowMo (fairscale/experimental/nn/data_parallel/gossip/distributed.py) over local SGD, behind the optimizer too:
//   every localsgd_frequency-th   parameters divided one by one, flattened, one GPU of each node all-reduces them,
//                                 copied back, and broadcast within the node; not where slow momentum follows in shards
//   every slowmo_frequency-th     in shards: parameters divided one by one, each shard reduced to its owner, its
//                                 momentum stepped, broadcast; else every rank steps the momentum of all of them
// In shards of equal size, one behind the other; the owner's step is a pass over three tensors read and three written.
//
// Nodes wait for each other at the averaging alone (as a scheme: ranks), ranks of a node in every step. What lasts of the differences between
// ranks the averaging collects, so a step still waits for the slowest of all; what changes from step to step
// (--jitter) evens out over a period, for which this is an upper bound. Left out: Python's walk over the parameters, of which
// the greater part runs beside the all-reduce; that the host is no longer ahead when the next forward begins.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "comm_hook.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// The tensor that is averaged.
struct FlatParameters {
  Bytes bytes;
  Bytes moved;      ///< parameters as they are, into it
  Bytes of_others;  ///< of these, what is of a narrower type and stays outside it
  Bytes largest_other;
  std::int64_t others = 0;
};
/// Of the parameters that get a gradient.
FlatParameters flat_parameters(const Workload& workload);

/// Of steps, those in which a level's period comes round and none of the higher ones does: 1/period, less what they have
/// in common, by inclusion and exclusion.
double share_of_steps(std::int64_t period, std::span<const AveragingLevel> higher);

/// Absent but for local SGD, by a communication hook or as a scheme, and SlowMo.
std::optional<ModelAveraging> model_averaging(const Job& job, const KernelCosts& kernels);

/// Why local SGD cannot be simulated on this cluster, with these links or ranks.
std::optional<std::string> cannot_average(const Job& job);

BucketHook local_sgd_hook(const Job& job, const KernelCosts& kernels, const Bucket& bucket);

}  // namespace ddpsim
