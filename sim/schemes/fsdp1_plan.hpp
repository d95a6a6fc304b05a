// What FullyShardedDataParallel sends for every unit, and where backward reaches units through
// their flat parameters.
#pragma once

#include <cstddef>
#include <vector>

#include "sharded_unit.hpp"

namespace ddpsim {

struct Fsdp1Unit : ShardedUnit {
  bool has_gradient;  ///< some of its own parameters have one
};

struct Fsdp1Plan {
  Fsdp1 scheme;  ///< as PyTorch applies it
  std::vector<Unit> units;
  std::vector<Fsdp1Unit> planned;
  int ranks;  ///< that shard together
  GradientDivision division;
  double stepped;  ///< share of parameters that a rank updates
  Bytes steps;     ///< size of that share, as stored

  bool frees_after_forward(std::size_t unit) const {
    const bool frees = scheme.strategy == ShardingStrategy::full_shard ||
                       scheme.strategy == ShardingStrategy::hybrid_shard;
    return frees && !units[unit].module.empty();
  }
  bool shards() const { return scheme.strategy != ShardingStrategy::no_shard; }
  bool frees_in_backward(bool sync) const {
    const bool keeps = scheme.strategy == ShardingStrategy::shard_grad_op ||
                       scheme.strategy == ShardingStrategy::hybrid_shard_zero2;
    return shards() && (sync || !keeps);
  }
};

Fsdp1Plan plan_fsdp1(const Job& job, Fsdp1 scheme);

/// In forward a unit's parameters are views of its flat parameter. If only some of them train, all
/// of them require a gradient, so backward reaches everything after the first such view. The
/// recording or estimate did not reach it, so it takes no time.
std::vector<UnitSpan> reached_through_views(const Workload& workload,
                                            const std::vector<Unit>& units,
                                            std::vector<UnitSpan> spans, std::size_t last_gradient);

}  // namespace ddpsim
