// When another setting is recommended: the greatest expected gain with a bounded regret.
//
//   - gain      current step - the step with it, scenario by scenario, so that shared errors cancel
//   - expected  mean of the gain over what is not known
//   - regret    the low end of the interval of the gain, if that is a loss
//
// The bounds of every source enclose an 80 % interval. So the mean weighs each bound 0.3 and the
// prediction 0.4: Swanson's rule for the mean of a skewed distribution from its 10th, 50th and 90th
// percentile.
//
// A setting is worth it if its predicted gain is measurable, and its regret exceeds neither the
// measurable nor a quarter of the expected gain. Demanding that nothing can ever be lost would give
// up large gains for losses that nobody could notice.
#pragma once

#include <algorithm>
#include <vector>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// What a setting gains with a source of error at one of its bounds, and at the other.
struct GainBounds {
  ErrorSource source;
  Duration at_one;
  Duration at_other;
};

struct WeighedGain {
  Gain gain;
  Duration expected;
  Duration regret() const { return std::max(Duration(), -gain.low); }
};

/// Sources are independent: deviations of the mean add up, deviations of the bounds add up as
/// squares.
WeighedGain weighed(Duration value, const std::vector<GainBounds>& bounds);

/// Combines gains of which exactly one applies, all equally likely: mean value, mean expected,
/// least low, greatest high.
WeighedGain whichever(const std::vector<WeighedGain>& gains);

/// The smallest difference that medians of a step of length `iteration` can show.
Duration measurable(Duration iteration, const TuneOptions& tuning);

bool is_worth(const WeighedGain& gain, Duration measurable);

/// The regret that an expected gain may have.
Duration bearable_regret(Duration expected, Duration measurable);

}  // namespace ddpsim
