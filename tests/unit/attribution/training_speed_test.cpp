#include "ddpsim/sim/attribution/training_speed.hpp"

#include <doctest/doctest.h>

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("training speed: work of all ranks divided by the step, absent if the work is unknown") {
  StepTimes times;
  times.iteration = 200_ms;
  times.loss[LossCause::input] = 50_ms;
  const TrainingSpeed known =
      training_speed({.samples = 64, .tokens = 64 * 512, .seconds_at_peak = 0.08}, times);
  CHECK(known.samples_per_second.value() == doctest::Approx(320));
  CHECK(known.tokens_per_second.value() == doctest::Approx(163840));
  CHECK(known.model_flops_utilization.value() == doctest::Approx(0.4));
  CHECK(known.scaling_efficiency.value() == doctest::Approx(0.75));
  const TrainingSpeed unknown = training_speed({}, times);
  CHECK_FALSE(unknown.samples_per_second.has_value());
  CHECK_FALSE(unknown.tokens_per_second.has_value());
  CHECK_FALSE(unknown.model_flops_utilization.has_value());
  CHECK(unknown.scaling_efficiency.has_value());
  CHECK_FALSE(training_speed({.samples = 1}, StepTimes()).samples_per_second.has_value());
}
