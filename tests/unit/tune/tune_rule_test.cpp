// The rule of recommendation: greatest expected gain, bounded regret.
#include <doctest/doctest.h>

#include "rule.hpp"
#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::gain_us;

namespace {

WeighedGain of(double value, double low, double high) {
  return weighed(
      Duration::microseconds(value),
      {{ErrorSource::bandwidth, Duration::microseconds(low), Duration::microseconds(high)}});
}

}  // namespace

TEST_CASE("rule: the expected gain weighs the bounds of an 80 % interval by 0.3 each") {
  CHECK(of(100, 50, 150).expected == 100_us);
  CHECK(of(100, 50, 250).expected == 130_us);  // 0.3 * 50 + 0.4 * 100 + 0.3 * 250
  CHECK(of(100, 40, 90).expected == 79_us);    // both bounds are worse than the prediction
}

TEST_CASE(
    "rule: independent sources add up deviations of the mean, and those of the bounds as squares") {
  const WeighedGain both = weighed(
      100_us, {{ErrorSource::bandwidth, 70_us, 180_us}, {ErrorSource::fixed_cost, 60_us, 160_us}});
  CHECK(both.expected == 121_us);
  CHECK(both.gain == gain_us(100, 50, 200));
  CHECK(both.regret() == 0_us);
  CHECK(weighed(100_us, {}).gain == gain_us(100, 100, 100));
}

TEST_CASE("rule: a loss that nobody could measure does not veto a large gain") {
  CHECK(is_worth(of(21000, -350, 40000), 1540_us));
  CHECK_FALSE(is_worth(of(21000, -1541, 40000), 1540_us));
  CHECK(is_worth(of(21000, -1540, 40000), 1540_us));
}

TEST_CASE("rule: a loss must not exceed a quarter of the expected gain") {
  CHECK(is_worth(of(1000, -250, 2250), 1000_us));
  CHECK_FALSE(is_worth(of(1000, -251, 2251), 1000_us));
}

TEST_CASE("rule: an unmeasurable gain is not worth it, however large it may become") {
  CHECK(is_worth(of(100, 100, 100), 100_us));
  CHECK_FALSE(is_worth(of(99, 99, 5000), 100_us));
  CHECK(is_worth(of(100, 50, 100), 100_us));
}

TEST_CASE("rule: with two possible readings, mean of both, worst low and best high") {
  const WeighedGain either = whichever({of(100, 50, 150), of(20, -10, 50)});
  CHECK(either.gain == gain_us(60, -10, 150));
  CHECK(either.expected == 60_us);
  CHECK(either.regret() == 10_us);
}
