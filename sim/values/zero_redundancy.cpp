#include "ddpsim/sim/values/zero_redundancy.hpp"

#include <utility>

namespace ddpsim {

SchemeFacts ZeroRedundancy::facts() const {
  return {.runs_reducer = true,
          .unknown = kUnknownOfPyTorch,
          .allows_unused = false,
          .one_at_a_time = false,
          .by_servers = false,
          .has_settings = true};
}

std::vector<SchemeOption> ZeroRedundancy::options() {
  SchemeOption overlap = flag_option("overlap_with_ddp", overlap_with_ddp);
  if (!overlap_with_ddp) overlap.in_force.reset();
  return {flag_option("parameters_as_bucket_view", parameters_as_bucket_view), std::move(overlap)};
}

}  // namespace ddpsim
