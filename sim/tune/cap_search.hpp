// Every bucketing of one job, and the best of them.
#pragma once

#include "gain.hpp"

namespace ddpsim {

/// Searches under the job's own version. Steps are those of the first reading; the recommendation
/// holds for all readings.
TuneResult search_caps(const Job& job, const TuneOptions& tuning, const Readings& readings);
/// Only the recommendation of search_caps().
Recommendation recommend_cap(const Job& job, const TuneOptions& tuning, const Readings& readings);

/// Whether a cap moves the cuts of a compiled backward as well as its buckets.
bool cap_cuts(const Job& job);

}  // namespace ddpsim
