// How often to take checkpoints: the interval at which a long run trains most, and intervals that
// are equally good.
#pragma once

#include <cstdint>

#include "elastic_runs.hpp"

namespace ddpsim {

/// Tries intervals around `centre`, first coarsely, then finely around the best. Some tried
/// intervals are lucky, so the result is based on all of them.
std::int64_t search_intervals(ElasticRuns& runs, double centre);
/// Sets the range of tried intervals around the best that are equally good. Their goodput differs
/// from the best, seed by seed, by at most the standard error of the difference.
void set_plateau(const ElasticRuns& runs, std::int64_t best, ElasticAnswer& answer);

}  // namespace ddpsim
