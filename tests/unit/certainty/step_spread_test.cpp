// What a further step may take, given the spread of recorded ones: intervals by hand.
#include "ddpsim/sim/certainty/step_spread.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

#include "alpha_beta.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Recorded steps_of_ms(std::initializer_list<double> times) {
  Recorded recorded;
  for (const double ms : times)
    recorded.steps.push_back({.name = "",
                              .forward = {},
                              .backward = {},
                              .iteration = Duration::microseconds(1000 * ms),
                              .collectives = {}});
  return recorded;
}

double ms(Duration time) {
  return time.milliseconds();
}

}  // namespace

TEST_CASE("step spread: one step tells nothing about the next") {
  CHECK_FALSE(step_spread(steps_of_ms({})));
  Recorded recorded = steps_of_ms({100});
  CHECK_FALSE(step_spread(recorded));
  recorded.steps.push_back({});  // its period is unknown
  CHECK_FALSE(step_spread(recorded));
}

TEST_CASE("step spread: two steps give a wide interval") {
  // The logarithms are 2 s * sqrt(2) apart, s = ln 1.21 / sqrt 2 = 0.13479; t = 3.078 for one
  // degree of freedom. So 110 ms times or over exp(3.078 * 0.13479 * sqrt(3/2)) = 1.66220.
  const StepSpread spread = step_spread(steps_of_ms({121, 100})).value();
  CHECK(spread.steps == 2);
  CHECK(ms(spread.median) == doctest::Approx(110.5));
  CHECK(spread.low == 100_ms);
  CHECK(spread.high == 121_ms);
  CHECK_FALSE(spread.percentiles);
  CHECK(ms(spread.next_low) == doctest::Approx(110 / 1.66220).epsilon(1e-4));
  CHECK(ms(spread.next_high) == doctest::Approx(110 * 1.66220).epsilon(1e-4));
  // 3.078 * (21 / sqrt 2) / sqrt 2
  CHECK(ms(spread.mean_error) == doctest::Approx(32.319).epsilon(1e-4));
}

TEST_CASE("step spread: a further step lies within a factor of 100, however far apart two are") {
  // Around sqrt(1 * 1e6) = 1000 ms; exp(4.6) = 99.484.
  const StepSpread spread = step_spread(steps_of_ms({1, 1e6})).value();
  CHECK(ms(spread.next_low) == doctest::Approx(1000 / 99.484).epsilon(1e-4));
  CHECK(ms(spread.next_high) == doctest::Approx(1000 * 99.484).epsilon(1e-4));
}

TEST_CASE("step spread: ranks are used from nine steps on") {
  const StepSpread nine = step_spread(steps_of_ms({9, 1, 2, 3, 4, 5, 6, 7, 8})).value();
  CHECK(nine.next_low == 1_ms);
  CHECK(nine.next_high == 9_ms);
  CHECK_FALSE(nine.percentiles);
  const StepSpread ten = step_spread(steps_of_ms({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})).value();
  CHECK(ten.percentiles);
  CHECK(ten.low == 1_ms);   // the first of ten is the 10th percentile
  CHECK(ten.high == 9_ms);  // the ninth the 90th
  CHECK(ms(ten.next_low) == doctest::Approx(1.1));
  CHECK(ms(ten.next_high) == doctest::Approx(9.9));
  // Six are kept: 3 3 3 4 5 6 7 8 8 8 have squares of 42.5 around 5.5; Student's of five degrees of freedom is 1.476.
  CHECK(ms(ten.mean_error) == doctest::Approx(1.476 * 1.19024).epsilon(1e-4));
  CHECK(step_spread(steps_of_ms({1, 2, 3, 4, 5, 6, 7, 8, 9, 30'000}))->mean_error ==
        ten.mean_error);
  const StepSpread nineteen =
      step_spread(steps_of_ms({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}))
          .value();
  CHECK(nineteen.next_low == 2_ms);
  CHECK(nineteen.next_high == 18_ms);
}

TEST_CASE("step spread: the interval of a step counts from the one replayed") {
  Recorded recorded = steps_of_ms({9, 1, 2, 3, 4, 5, 6, 7, 8});
  recorded.iteration = 4_ms;
  const Sensitivity spread = recorded_spread(recorded, 40_ms).value();
  CHECK(spread.source == ErrorSource::step_spread);
  CHECK(spread.low == -30_ms);
  CHECK(spread.high == 50_ms);
  recorded.iteration.reset();  // then counted from the median
  CHECK(recorded_spread(recorded, 40_ms)->low == -32_ms);
  CHECK_FALSE(recorded_spread({}, 40_ms));
}

TEST_CASE("step spread: a step's interval holds it, a gain's does not") {
  small::OpenJob job{.workload = small::mib_layers({1000, 2000, 3000}, 3400), .model = FreeModel{}};
  const Confidence before = job.assess();
  job.workload.steps = steps_of_ms({9, 1, 2, 3, 4, 5, 6, 7, 8}).steps;
  const Confidence after = job.assess();
  CHECK(after.low_percent < -70);
  CHECK(after.high_percent > 70);
  CHECK(before.high_percent < 5);
  CHECK(job.tune().recommended.gain.high == Duration());
}

TEST_CASE("host delays: a launch-bound recording may be as short as the GPU was busy") {
  small::OpenJob job{.workload = small::mib_layers({1000, 2000, 3000, 4000}, 1000),
                     .model = FreeModel{}};
  job.workload.iteration = 7_ms;  // 2 ms between steps
  const Duration replayed = job.step();
  CHECK(replayed == 7_ms);
  CHECK_FALSE(launch_bound(job.workload));
  job.workload.busy = {.forward = 500_us, .backward = 2800_us, .optimizer = {}};
  CHECK_FALSE(launch_bound(job.workload));  // it waited for 30 %, not for more
  job.workload.busy->backward = 2_ms;
  REQUIRE(launch_bound(job.workload));
  const Confidence confidence = job.assess();
  const auto delays =
      std::ranges::find(confidence.sensitivities, ErrorSource::host_delays, &Sensitivity::source);
  REQUIRE(delays != confidence.sensitivities.end());
  CHECK(delays->low == 2500_us - replayed);
  CHECK(delays->high == Duration());
}
