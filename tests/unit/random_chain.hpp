// Models of random gradients, as large and as close as those of real ones.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "small_jobs.hpp"

namespace ddpsim::small {

/// Draws without std:: distributions, whose values differ from library to library.
inline std::int64_t draw(std::mt19937_64& random, std::int64_t below) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
}

/// Sizes of 1 KiB to 4 MiB, many small ones among them; 1 to 120 us of backward each.
inline Workload random_chain(std::mt19937_64& random, int gradients) {
  std::vector<Gradient> chained;
  double at = 0;
  for (int k = 0; k < gradients; ++k) {
    at += static_cast<double>(1 + draw(random, 120));
    chained.push_back({.bytes = 1024 << draw(random, 13), .at_us = at});
  }
  return chain(chained, at / 2, at + 20, 500);
}

}  // namespace ddpsim::small
