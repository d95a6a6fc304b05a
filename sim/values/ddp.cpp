#include "ddpsim/sim/values/ddp.hpp"

namespace ddpsim {

SchemeFacts Ddp::facts() const {
  return {.runs_reducer = true,
          .unknown = 0,
          .allows_unused = false,
          .one_at_a_time = true,
          .by_servers = false,
          .has_settings = true};
}

std::vector<SchemeOption> Ddp::options() {
  return {};
}

}  // namespace ddpsim
