// Which points of a tuning curve a terminal shows.
#pragma once

#include <vector>

#include "ddpsim/sim/tune.hpp"

namespace ddpsim {

/// Indices into `result.curve`, ascending by cap: the points around round caps, the best, the
/// recommended, the default, both ends; at most fifteen, and only what a user can set.
std::vector<std::size_t> representative_points(const TuneResult& result);

/// The same bucketing by the same setting.
bool same_setting(const CurvePoint& a, const CurvePoint& b);

}  // namespace ddpsim
