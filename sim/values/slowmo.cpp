#include "ddpsim/sim/values/slowmo.hpp"

#include <utility>

namespace ddpsim {

SchemeFacts SlowMo::facts() const {
  return {.runs_reducer = false,
          .unknown = kUnknownOfPyTorch,
          .allows_unused = false,
          .one_at_a_time = false,
          .by_servers = false,
          .has_settings = false};
}

std::vector<SchemeOption> SlowMo::options() {
  SchemeOption shards = count_option("slowmo_num_shards", slowmo_num_shards);
  if (!slowmo_memory_efficient) shards.in_force.reset();
  return {count_option("localsgd_frequency", localsgd_frequency),
          count_option("slowmo_frequency", slowmo_frequency),
          flag_option("slowmo_memory_efficient", slowmo_memory_efficient), std::move(shards)};
}

std::vector<int> SlowMo::groups(int gpus_per_node) const {
  return {gpus_per_node};
}

}  // namespace ddpsim
