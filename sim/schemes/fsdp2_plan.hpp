// What fully_shard sends of every group of parameters.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sharded_unit.hpp"

namespace ddpsim {

struct Fsdp2Group : ShardedUnit {
  std::optional<StepCollective> gather_again;  ///< in backward; absent: what was gathered is there
  std::vector<Bytes> shards;                   ///< of parameters with a gradient, as stored
  std::size_t tensors;                         ///< all of them
};

struct Fsdp2Plan {
  const Fsdp2& scheme;
  int all;  ///< ranks
  std::vector<Unit> units;
  std::vector<Fsdp2Group> planned;
  int ranks;  ///< that shard together
  int again;  ///< that gather again in backward, each a part that it kept of what forward gathered if they are fewer
  double stepped;  ///< share of the parameters rank 0 steps
  Bytes shards;    ///< of those, as stored

  bool keeps_parts() const { return again < ranks; }
};

Fsdp2Plan plan_fsdp2(const Job& job, const Fsdp2& scheme);

}  // namespace ddpsim
