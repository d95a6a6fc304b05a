// How long tests wait for expected events. tests/cli/patience.py explains the factor.
#pragma once

#include <chrono>
#include <cstdlib>

namespace ddpsim::testing {

/// A limit that only a hang reaches, or a time-out that a test waits for, also on slow or busy
/// machines.
inline std::chrono::seconds patient(std::chrono::seconds limit) {
  const char* factor = std::getenv("DDPSIM_PATIENCE");
  return limit * (factor == nullptr ? 1 : std::atoi(factor));
}

}  // namespace ddpsim::testing
