// What another bucketing gains over the default, and how sure that is.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/tune.hpp"

namespace ddpsim {

/// The same job, its steady step with these buckets.
Job with_buckets(const Job& job, std::vector<Bucket> buckets);

/// The step with these buckets if collectives, what hooks do to them, their launches and their
/// interference took no time at all: no bucketing is faster.
Duration lower_bound(const Job& job, std::vector<Bucket> buckets);

/// `value` = iteration(before) - iteration(after), and again with every source of error at its bounds.
/// What the replay of today's step leaves unexplained may change it in proportion, either way.
Gain gain_with_interval(const Job& job, const std::vector<Bucket>& before,
                        const std::vector<Bucket>& after, Duration value,
                        const std::optional<Replay>& replay);

/// The least gain worth an advice where a step takes `iteration`: what can be measured, and what the
/// replay of today's step misses, which may be the very time a cap is to save.
Duration least_gain(Duration iteration, const TuneOptions& tuning);

}  // namespace ddpsim
