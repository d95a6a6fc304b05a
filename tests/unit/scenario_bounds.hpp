// The scenarios of a job, bound by bound: each source at one of its ends, then at the other.
#pragma once

#include <vector>

#include "uncertainty.hpp"

namespace ddpsim::small {

struct Bound {
  ErrorSource source;
  Job job;
};

inline std::vector<Bound> bounds(const Job& job) {
  std::vector<Bound> all;
  for (const Scenario& scenario : scenarios(job)) {
    all.push_back({scenario.source, scenario.at_one});
    all.push_back({scenario.source, scenario.at_other});
  }
  return all;
}

}  // namespace ddpsim::small
