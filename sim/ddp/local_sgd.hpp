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
// Nodes wait for each other at the averaging alone, ranks of a node in every step. What lasts of the differences between
// ranks the averaging collects, so a step still waits for the slowest of all; what changes from step to step
// (--jitter) evens out over a period, for which this is an upper bound. Left out: Python's walk over the parameters, of which
// the greater part runs beside the all-reduce; that the host is no longer ahead when the next forward begins.
#pragma once

#include <optional>
#include <string>

#include "comm_hook.hpp"
#include "ddpsim/sim/result.hpp"

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

/// Absent but for local SGD.
std::optional<ModelAveraging> model_averaging(const Job& job, const KernelCosts& kernels);

/// Why local SGD cannot be simulated on this cluster, with these links or ranks.
std::optional<std::string> cannot_average(const Job& job);

BucketHook local_sgd_hook(const Job& job, const KernelCosts& kernels, const Bucket& bucket);

}  // namespace ddpsim
