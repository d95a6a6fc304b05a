// The best any bucketing could do: where to cut the gradient-ready order, by dynamic programming.
//
// On a quiet network and without interference, buckets run one after the other: bucket (i, j] of
// the ready order ends at  E(j) = min over i of  max(E(i), R(j)) + T(bytes(i, j])  with R(j) the
// instant the gradient j is in its bucket and launched and T the collective's time. E is
// non-decreasing under the choice of i, so the cut is optimal for these assumptions. What they
// leave out (interference, copies, host launches piling up) is put back by simulating the cut in
// full; hence "best found". Of very many gradients cuts are tried behind some hundreds alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// Why a contiguous cut of the ready order makes no sense here (several dtypes, sparse gradients);
/// absent when it does.
std::optional<std::string> no_partition_because(const Workload& workload,
                                                CommHook hook = CommHook::none);

/// Precondition: no_partition_because is absent. Times are not filled in.
std::vector<Bucket> best_partition(const Job& job);

}  // namespace ddpsim
