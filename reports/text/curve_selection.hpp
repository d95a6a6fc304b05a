// Which points of a tuning curve a terminal shows.
#pragma once

#include <cstddef>
#include <vector>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// Indices into `result.curve`, ascending by cap: the points around round caps, the best, the
/// recommended, the default, both ends; at most so many, and only what a user can set.
std::vector<std::size_t> representative_points(const TuneResult& result, std::size_t most = 15);

/// The same bucketing by the same setting.
bool same_setting(const CurvePoint& a, const CurvePoint& b);

/// The first bucket has a limit of its own, neither the cap nor what the default gives it.
bool first_set_apart(const CurvePoint& point, const TuneResult& result);

/// What the options in force give, where they are not the default's; recorded buckets themselves.
bool is_current(const CurvePoint& point, const TuneResult& result);

/// Whether the recommendation gives the bucketing of this point.
bool is_recommended(const CurvePoint& point, const TuneResult& result);
/// What tune names, to be measured before it is set.
bool is_to_measure(const CurvePoint& point, const TuneResult& result);

/// The cap to show: of all that give this bucketing, the recommended one or a round one if there
/// is.
std::optional<double> shown_cap(const CurvePoint& point, const TuneResult& result);

}  // namespace ddpsim
