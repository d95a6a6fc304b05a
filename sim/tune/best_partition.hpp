// The best that any bucketing could do: where to cut the gradient-ready order, by dynamic
// programming.
//
// On a quiet network without interference, buckets run one after the other. Bucket (i, j] of the
// ready order ends at
//
//   E(j) = min over i of  max(E(i), R(j)) + T(bytes(i, j])
//
// R(j) is the time at which gradient j is in its bucket and launched, and T the time of the
// collective. An earlier E(i) never makes E(j) later, so the cut is optimal under these
// assumptions. They leave out interference, copies and host launches that queue up. Simulating the
// cut in full adds these again, hence "best found". With very many gradients, cuts are tried after
// only a few hundred of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// Why cutting the ready order makes no sense for this workload (several dtypes, sparse gradients).
/// Absent if it does.
std::optional<std::string> no_partition_because(const Workload& workload,
                                                CommHook hook = CommHook::none);

/// Precondition: no_partition_because is absent. Does not fill in times.
std::vector<Bucket> best_partition(const Job& job);

}  // namespace ddpsim
