// How often to take checkpoints: the interval at which a long run trains most, and those that are as good.
#pragma once

#include <cstdint>

#include "elastic_runs.hpp"

namespace ddpsim {

/// Around `centre`, coarsely and then finely around the best. Some of those tried are lucky: what all of them say decides.
std::int64_t search_intervals(ElasticRuns& runs, double centre);
/// Those tried about the best whose goodput differs from its, seed by seed, by no more than the standard error of that.
void set_plateau(const ElasticRuns& runs, std::int64_t best, ElasticAnswer& answer);

}  // namespace ddpsim
