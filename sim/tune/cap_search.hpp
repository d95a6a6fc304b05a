// Every bucketing of one job, and the best of them.
#pragma once

#include "gain.hpp"

namespace ddpsim {

/// Under the job's own version; steps are by its first reading, what is recommended holds for all of them.
TuneResult search_caps(const Job& job, const TuneOptions& tuning, const Readings& readings);
/// Its recommendation alone.
Recommendation recommend_cap(const Job& job, const TuneOptions& tuning, const Readings& readings);

/// A cap moves the cuts of a compiled backward as well as its buckets.
bool cap_cuts(const Job& job);

}  // namespace ddpsim
