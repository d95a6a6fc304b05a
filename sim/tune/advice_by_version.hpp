// A recommendation held against every PyTorch it may be.
#pragma once

#include "ddpsim/sim/tune.hpp"

namespace ddpsim {

/// Fills in `by_version` where several versions are possible. A recommendation that does not gain
/// enough, or not surely, under one of them becomes "keep the default"; each range then has its own.
void hold_against_versions(const Job& job, const TuneOptions& tuning, TuneResult& result);

}  // namespace ddpsim
