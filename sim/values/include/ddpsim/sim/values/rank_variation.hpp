// Differences between the ranks of one job that were not recorded: stragglers, jitter, staggered
// starts.
//
// The compute of a rank (forward, backward, optimizer) in one iteration takes
//
//   slowdown(straggler) * exp(s z - s^2 / 2),   s^2 = ln(1 + jitter^2),   z standard normal
//
// times what was recorded. The exponential is a log-normal factor with mean 1 and relative standard
// deviation `jitter`. There is one factor per rank and iteration, because kernels of one step share
// clocks, neighbours and host. Copies and host costs of DDP are not scaled.
//
// z is a function of (seed, rank, iteration) only, so neither the order of evaluation nor the
// number of threads changes a draw.
//
// Ranks and steps are assumed to be independent. This is false for thermal throttling, which lasts
// longer than a step, and for shared storage, which makes many ranks late together.
#pragma once

#include <cstdint>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

struct Straggler {
  int rank = 0;
  /// 1.2: the rank's compute takes 1.2 times as long.
  double slowdown = 1;
};

struct RankVariation {
  std::vector<Straggler> stragglers;  ///< at most one entry per rank
  /// 0.02: 2 % of the compute time. Below 1.
  double jitter = 0;
  /// Time from rank 0's first forward to the last rank's first forward. The other ranks begin at
  /// equal distances in between.
  Duration stagger;
  std::uint64_t seed = 1;

  bool empty() const { return stragglers.empty() && jitter == 0 && stagger == Duration(); }
};

/// Factor on the compute time of `rank` in `iteration`, rounded to whole millionths so that
/// differences in the last bit of exp and log between platforms do not show.
double slowdown(const RankVariation& variation, int rank, int iteration);

/// The factor without jitter.
double steady_slowdown(const RankVariation& variation, int rank);

/// Time from rank 0's first iteration to that of `rank`, one of `ranks`.
Duration first_start(const RankVariation& variation, int rank, int ranks);

}  // namespace ddpsim
