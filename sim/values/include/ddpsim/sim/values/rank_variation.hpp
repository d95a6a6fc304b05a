// Ranks of one job that differ beyond what was recorded: stragglers, jitter, staggered starts.
//
// A rank's compute (forward, backward, optimizer) of one iteration takes
//
//   slowdown(straggler) * exp(s z - s^2 / 2),   s^2 = ln(1 + jitter^2),   z standard normal
//
// times what was recorded: a log-normal factor with mean 1 and relative standard deviation
// `jitter`, one per rank and iteration, as kernels of one step share clocks, neighbours and host.
// Copies and host costs of DDP are not touched. z is a function of (seed, rank, iteration) alone, so
// that neither the order of evaluation nor the number of threads can change a draw. Independent
// ranks and steps are an assumption: thermal throttling lasts longer than a step, and shared storage
// makes many ranks late together.
#pragma once

#include <cstdint>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

struct Straggler {
  int rank = 0;
  double slowdown = 1;  ///< 1.2: its compute takes 1.2 times as long
};

struct RankVariation {
  std::vector<Straggler> stragglers;  ///< at most one entry per rank
  double jitter = 0;                  ///< 0.02: 2 % of the compute time; below 1
  /// The last rank begins its first forward this much after rank 0, the others evenly in between.
  Duration stagger;
  std::uint64_t seed = 1;

  bool empty() const { return stragglers.empty() && jitter == 0 && stagger == Duration(); }
};

/// Factor on the compute time of `rank` in `iteration`, in whole millionths: the last bit of a
/// platform's exp and log must not show.
double slowdown(const RankVariation& variation, int rank, int iteration);

/// The factor without jitter.
double steady_slowdown(const RankVariation& variation, int rank);

/// When `rank` of `ranks` begins the first iteration, counted from rank 0.
Duration first_start(const RankVariation& variation, int rank, int ranks);

}  // namespace ddpsim
