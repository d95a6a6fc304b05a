#include "rule.hpp"

#include <algorithm>

#include "uncertainty.hpp"

namespace ddpsim {
namespace {

constexpr double kWeightOfBound = 0.3;
constexpr double kRegretOfExpected = 0.25;

}  // namespace

WeighedGain weighed(Duration value, const std::vector<GainBounds>& bounds) {
  std::vector<Sensitivity> sensitivities;
  Duration expected = value;
  for (const GainBounds& of : bounds) {
    const Duration one = of.at_one - value;
    const Duration other = of.at_other - value;
    sensitivities.push_back(sensitivity(of.source, one, other));
    expected += (one + other).scaled(kWeightOfBound);
  }
  const Spread spread = combine(sensitivities);
  return {.gain = {.value = value, .low = value + spread.low, .high = value + spread.high},
          .expected = expected};
}

WeighedGain whichever(const std::vector<WeighedGain>& gains) {
  WeighedGain all = gains.front();
  for (std::size_t i = 1; i < gains.size(); ++i) {
    all.gain.value += gains[i].gain.value;
    all.gain.low = std::min(all.gain.low, gains[i].gain.low);
    all.gain.high = std::max(all.gain.high, gains[i].gain.high);
    all.expected += gains[i].expected;
  }
  const double share = 1.0 / static_cast<double>(gains.size());
  if (gains.size() > 1) {
    all.gain.value = all.gain.value.scaled(share);
    all.expected = all.expected.scaled(share);
  }
  return all;
}

Duration measurable(Duration iteration, const TuneOptions& tuning) {
  return iteration.scaled(tuning.measurable_share);
}

Duration bearable_regret(Duration expected, Duration measurable) {
  return std::min(measurable, expected.scaled(kRegretOfExpected));
}

bool is_worth(const WeighedGain& gain, Duration measurable) {
  return gain.gain.value >= measurable && gain.expected > Duration() &&
         gain.regret() <= bearable_regret(gain.expected, measurable);
}

}  // namespace ddpsim
