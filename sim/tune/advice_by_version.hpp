// A recommendation held against every PyTorch it may be.
#pragma once

#include "ddpsim/sim/tune/tune.hpp"
#include "gain.hpp"

namespace ddpsim {

/// Fills in `by_version` where several versions are possible. A recommendation that does not gain
/// enough, or not surely, under one of them becomes "keep the default"; each range then has its own.
void hold_against_versions(const Job& job, const TuneOptions& tuning, TuneResult& result);

/// As predicted not slower than today's, and its regret bearable, under every version it may be that can run it.
bool is_nowhere_slower(const Job& job, const Change& change, const ChangeTraits& traits,
                       Duration expected, const TuneOptions& tuning);

}  // namespace ddpsim
