// Several workloads on several clusters: which cluster does the whole mix faster. Each workload has
// a share of the time that one candidate, the reference, spends on it now, as predicted:
//
//   time of a candidate = sum over workloads of share * its time for a unit of work / the reference's time for that unit
//
// The reference's time is 1; a candidate that does the same work in half the time has 0.5. Shares
// are of time because buyers know these for machines in use, whatever the units of work are. With
// shares of samples, the workload with the largest samples would decide.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ddpsim/sim/compare/compare.hpp"

namespace ddpsim {

struct MixedCandidate {
  WorkTime work;     ///< its unit: the reference's work in a second
  FigureRange time;  ///< interval of the time for `work`
  /// How much faster the fastest candidate is than this one; all 0 for the fastest itself.
  Speedup behind;
};

struct Mix {
  std::vector<MixedCandidate> candidates;  ///< in the order given
  std::vector<std::size_t> by_speed;       ///< fastest first
};

/// `works[workload][candidate]`: each above 0. `shares`: one per workload, with sum 1. `reference`:
/// index of a candidate.
Mix mix(const std::vector<std::vector<WorkTime>>& works, std::span<const double> shares,
        std::size_t reference);

/// The candidates that may be the fastest; nothing known decides between them.
std::vector<std::size_t> contenders(const Mix& mix);

}  // namespace ddpsim
