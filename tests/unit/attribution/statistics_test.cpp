// Statistics of the iteration times of a training run.
#include "iteration_statistics.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Iteration times of 1, 2, … us, out of order.
std::vector<StepResult> iterations_of(int count) {
  std::vector<StepResult> steps(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    StepResult& step = steps[static_cast<std::size_t>(i)];
    step.iteration = i + 1;
    step.times.iteration = Duration::microseconds(1 + (i * 7 + 3) % count);
  }
  return steps;
}

}  // namespace

TEST_CASE("statistics: percentiles by nearest rank, mean, and how many values they need") {
  // The times are 1 to 100 us, so percentiles are the 50th, 95th and 99th of a hundred values.
  const auto hundred = statistics_of(iterations_of(100), 1);
  REQUIRE(hundred);
  CHECK(hundred->first == 1);
  CHECK(hundred->count == 100);
  CHECK(hundred->p50 == 50_us);
  CHECK(hundred->p95 == 95_us);
  CHECK(hundred->p99 == 99_us);
  CHECK(hundred->mean.iteration == 50.5_us);
  // With 99 values, the ranks 49.5 and 94.05 are rounded up.
  const auto ninety_nine = statistics_of(iterations_of(99), 1);
  CHECK(ninety_nine->p50 == 50_us);
  CHECK(ninety_nine->p95 == 95_us);
  CHECK_FALSE(ninety_nine->p99);
  const auto twenty = statistics_of(iterations_of(20), 1);
  CHECK(twenty->p50 == 10_us);
  CHECK(twenty->p95 == 19_us);
  CHECK_FALSE(statistics_of(iterations_of(19), 1)->p95);
  CHECK(statistics_of(iterations_of(1), 1)->p50 == 1_us);
}

TEST_CASE("statistics: iterations before the first steady one are left out") {
  std::vector<StepResult> steps = iterations_of(3);
  steps[0].times.iteration = 1000_us;
  steps[1].times.iteration = 10_us;
  steps[2].times.iteration = 20_us;
  const auto spread = statistics_of(steps, 2);
  REQUIRE(spread);
  CHECK(spread->count == 2);
  CHECK(spread->mean.iteration == 15_us);
  CHECK(spread->p50 == 10_us);
  CHECK_FALSE(statistics_of(steps, 4));
  CHECK_FALSE(statistics_of({}, 0));
}

// The steps take 10 and 20 us, with parts of 4 and 6 us; 0.5 and 0.7 of their communication is
// hidden.
TEST_CASE("statistics: the mean step is the mean of each part") {
  std::vector<StepResult> steps = iterations_of(2);
  steps[0].times = {.iteration = 10_us, .backward = 4_us, .overlap = 0.5, .host = 3_us};
  steps[0].times.loss[LossCause::jitter] = -1_us;
  steps[1].times = {.iteration = 20_us, .backward = 6_us, .overlap = 0.7, .host = 4_us};
  steps[1].times.loss[LossCause::jitter] = 5_us;
  const StepTimes mean = statistics_of(steps, 1)->mean;
  CHECK(mean.iteration == 15_us);
  CHECK(mean.backward == 5_us);
  CHECK(mean.loss[LossCause::jitter] == 2_us);
  CHECK(mean.host == 3.5_us);
  CHECK(mean.overlap == doctest::Approx(0.6));
  // In steps that average over a period, only some communicate.
  steps[0].times.overlap.reset();
  CHECK(statistics_of(steps, 1)->mean.overlap == doctest::Approx(0.7));
  steps[1].times.overlap.reset();
  CHECK_FALSE(statistics_of(steps, 1)->mean.overlap);
}

TEST_CASE("statistics: every part of a step has its own mean") {
  const auto parts = [](StepTimes& times) {
    return std::vector<Duration*>{&times.iteration,
                                  &times.forward,
                                  &times.buffer_broadcast,
                                  &times.backward,
                                  &times.backward_compute,
                                  &times.copies_in,
                                  &times.interference,
                                  &times.communication,
                                  &times.wait,
                                  &times.exposed_communication,
                                  &times.exposed_in_backward,
                                  &times.exposed_in_forward,
                                  &times.exposed_in_optimizer,
                                  &times.optimizer_in_backward,
                                  &times.finalize,
                                  &times.optimizer,
                                  &times.sync_batchnorm,
                                  &times.model_averaging,
                                  &times.stall,
                                  &times.input,
                                  &times.input_alone,
                                  &times.pause,
                                  &times.slowest_gpu,
                                  &times.unexplained,
                                  &times.slowed_backward,
                                  &times.launch_bound,
                                  &times.forward_ahead};
  };
  std::vector<StepResult> steps = iterations_of(2);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    Duration next = Duration::microseconds(s == 0 ? 10 : 30);
    for (Duration* part : parts(steps[s].times)) *part = next += 2_us;
    for (const LossCause cause : all_loss_causes()) steps[s].times.loss[cause] = next += 2_us;
  }
  StepTimes mean = statistics_of(steps, 1)->mean;
  Duration expected = 20_us;
  for (const Duration* part : parts(mean)) CHECK(*part == (expected += 2_us));
  for (const LossCause cause : all_loss_causes()) CHECK(mean.loss[cause] == (expected += 2_us));
}
