#include "ddpsim/sim/values/rank_variation.hpp"

#include <cmath>

#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/split_mix.hpp"

namespace ddpsim {
namespace {

/// A random number strictly between 0 and 1, made of 53 bits of a hash of the four arguments.
double uniform(std::uint64_t seed, std::uint64_t rank, std::uint64_t iteration,
               std::uint64_t draw) {
  std::uint64_t bits = mixed(seed + kSplitMixGamma);
  for (const std::uint64_t word : {rank, iteration, draw})
    bits = mixed(bits + kSplitMixGamma * (word + 1));
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

/// Box and Muller's transform of two such numbers.
double standard_normal(const RankVariation& variation, int rank, int iteration) {
  const auto draw = [&](std::uint64_t which) {
    return uniform(variation.seed, static_cast<std::uint64_t>(rank),
                   static_cast<std::uint64_t>(iteration), which);
  };
  return std::sqrt(-2 * elementary::log(draw(0))) * elementary::cos_of_turns(draw(1));
}

}  // namespace

double steady_slowdown(const RankVariation& variation, int rank) {
  for (const Straggler& straggler : variation.stragglers)
    if (straggler.rank == rank) return straggler.slowdown;
  return 1;
}

double slowdown(const RankVariation& variation, int rank, int iteration) {
  const double steady = steady_slowdown(variation, rank);
  if (variation.jitter == 0) return steady;
  const double variance = elementary::log1p(variation.jitter * variation.jitter);
  const double exponent =
      std::sqrt(variance) * standard_normal(variation, rank, iteration) - variance / 2;
  return steady * std::round(elementary::exp(exponent) * 1e6) / 1e6;
}

Duration first_start(const RankVariation& variation, int rank, int ranks) {
  if (ranks <= 1) return Duration();
  return variation.stagger.scaled(static_cast<double>(rank) / (ranks - 1));
}

}  // namespace ddpsim
