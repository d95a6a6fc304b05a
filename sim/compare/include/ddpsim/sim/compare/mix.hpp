// Several workloads on several clusters: which does the whole mix faster. A share is of the time that one of the candidates,
// the reference, spends on a workload today, as predicted:
//
//   time of a candidate = sum over workloads of share * its time for a unit of work / the reference's time for that unit
//
// 1 for the reference, 0.5 for one that does all it does in half the time. Shares of time are what a buyer knows of machines in
// use, whatever units of work are; shares of samples would let the workload with the largest samples decide.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ddpsim/sim/compare/compare.hpp"

namespace ddpsim {

struct MixedCandidate {
  WorkTime work;     ///< its unit: what the reference does in a second
  FigureRange time;  ///< of `work`, as long as it may be
  Speedup behind;    ///< lead of the fastest over this one; all 0 for the fastest itself
};

struct Mix {
  std::vector<MixedCandidate> candidates;  ///< as they were given
  std::vector<std::size_t> by_speed;       ///< fastest first
};

/// `works`: by workload, by candidate; each above 0. `shares`: by workload, together 1. `reference`: one of the candidates.
Mix mix(const std::vector<std::vector<WorkTime>>& works, std::span<const double> shares,
        std::size_t reference);

/// Those that may be the fastest: nothing that is known decides between them.
std::vector<std::size_t> contenders(const Mix& mix);

}  // namespace ddpsim
