// Which points of a tuning curve a terminal shows.
#pragma once

#include <cstddef>
#include <vector>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// Indices into `result.curve`, ascending by cap: points of round caps, the best, the recommended
/// one, the default and both ends. Returns at most `most` of them, and only what a user can set.
std::vector<std::size_t> representative_points(const TuneResult& result, std::size_t most = 15);

/// Whether two points have the same cap and the same first bucket.
bool same_setting(const CurvePoint& a, const CurvePoint& b);

/// Whether the first bucket has its own limit, which is neither the cap nor the default's.
bool first_set_apart(const CurvePoint& point, const TuneResult& result);

/// Whether the point is what the job runs now, if that is not the default: its options, or its
/// recorded buckets.
bool is_current(const CurvePoint& point, const TuneResult& result);

/// Whether the recommendation gives this point's buckets.
bool is_recommended(const CurvePoint& point, const TuneResult& result);
/// Whether tune wants this setting measured before it is set.
bool is_to_measure(const CurvePoint& point, const TuneResult& result);

/// The cap to show among all that give these buckets: the recommended one, else a round one, else
/// the point's own.
std::optional<double> shown_cap(const CurvePoint& point, const TuneResult& result);

}  // namespace ddpsim
