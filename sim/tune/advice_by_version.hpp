// Checks a recommendation against every PyTorch version that may run.
#pragma once

#include "ddpsim/sim/tune/tune.hpp"
#include "gain.hpp"

namespace ddpsim {

/// Fills in `by_version` if several versions are possible. A recommendation that gains too little,
/// or not surely, under one of them becomes "keep the default". Each range of versions then has its
/// own advice.
void hold_against_versions(const Job& job, const TuneOptions& tuning, TuneResult& result);

/// Whether the change is predicted not to be slower than the current setting, with a bearable
/// regret, under every possible version that can run it.
bool is_nowhere_slower(const Job& job, const Change& change, const ChangeTraits& traits,
                       Duration expected, const TuneOptions& tuning);

}  // namespace ddpsim
