// A recommendation held against both causes of what the replay of today's step misses.
#pragma once

#include "gain.hpp"

namespace ddpsim {

/// What is recommended is worth it not knowing which; else today's is kept, and `by_cause` has what each would be
/// advised.
TuneResult tune_measured(const Job& job, const TuneOptions& tuning, Duration measured);

}  // namespace ddpsim
