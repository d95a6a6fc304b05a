// SchemeFacts needs a value for every member.
#include "ddpsim/sim/values/scheme.hpp"

ddpsim::SchemeFacts facts() {
  return {
      .runs_reducer = false,
      .unknown = 0,
      .allows_unused = false,
      .one_at_a_time = false,
#ifndef MUST_NOT_COMPILE
      .by_servers = false,
#endif
      .has_settings = false,
  };
}
