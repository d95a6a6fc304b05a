// How long tests wait for what should happen; tests/cli/patience.py says where the factor comes from.
#pragma once

#include <chrono>
#include <cstdlib>

namespace ddpsim::testing {

/// A limit that only a hang reaches, or a time-out that a test waits for, on a slow or busy machine too.
inline std::chrono::seconds patient(std::chrono::seconds limit) {
  const char* factor = std::getenv("DDPSIM_PATIENCE");
  return limit * (factor == nullptr ? 1 : std::atoi(factor));
}

}  // namespace ddpsim::testing
