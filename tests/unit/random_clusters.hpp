// How many random clusters a test tries.
#pragma once

#include <cstdlib>

namespace ddpsim {

/// `usual`, or what the environment's DDPSIM_RANDOM_CLUSTERS says: 10000 before a release.
inline int random_clusters(int usual) {
  const char* count = std::getenv("DDPSIM_RANDOM_CLUSTERS");
  return count != nullptr ? std::atoi(count) : usual;
}

}  // namespace ddpsim
