// What fully_shard sends for every group of parameters.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sharded_unit.hpp"

namespace ddpsim {

struct Fsdp2Group : ShardedUnit {
  /// The all-gather in backward. Absent if the result of forward's all-gather is still in memory.
  std::optional<StepCollective> gather_again;
  std::vector<Bytes> shards;  ///< of parameters with a gradient, as stored
  std::size_t tensors;        ///< number of parameters
};

struct Fsdp2Plan {
  const Fsdp2& scheme;
  int all;  ///< number of ranks
  std::vector<Unit> units;
  std::vector<Fsdp2Group> planned;
  int ranks;  ///< that shard together
  /// Number of ranks that gather again in backward. If there are fewer than `ranks`, each keeps a
  /// part of what forward gathered.
  int again;
  double stepped;  ///< share of parameters that rank 0 updates
  Bytes shards;    ///< size of that share, as stored

  bool keeps_parts() const { return again < ranks; }
  bool shards_alone() const { return ranks == 1; }
};

Fsdp2Plan plan_fsdp2(const Job& job, const Fsdp2& scheme);

}  // namespace ddpsim
