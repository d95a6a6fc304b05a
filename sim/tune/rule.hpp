// When another setting is recommended: the greatest expected gain, with a bounded regret.
//
//   gain      today's step - the step with it, each scenario against itself: what both share makes neither better
//   expected  its mean over what is not known: every source's bounds hold four in five, so they weigh 0.3 each and
//             the prediction 0.4 (Swanson's rule for the mean of a skewed distribution by its tenth, fiftieth and
//             ninetieth percentile)
//   regret    what it costs where it goes wrong: the low end of its interval, where that is a loss
//
// Worth it is what gains as predicted at least what can be measured, and regrets neither more than can be measured nor
// more than a quarter of what is expected. Asking that nothing can ever be lost would give up
// large gains for losses that nobody could see.
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

/// Sources are independent: deviations of the mean add up, those of the bounds as squares.
WeighedGain weighed(Duration value, const std::vector<GainBounds>& bounds);

/// Where it is not known which of them holds, none being likelier: mean value, mean expected, least low, greatest high.
WeighedGain whichever(const std::vector<WeighedGain>& gains);

/// Of a step that takes `iteration`: medians cannot tell smaller differences apart.
Duration measurable(Duration iteration, const TuneOptions& tuning);

bool is_worth(const WeighedGain& gain, Duration measurable);

/// The regret that an expected gain may have.
Duration bearable_regret(Duration expected, Duration measurable);

}  // namespace ddpsim
