// A recorded host with another GPU: its launches keep their own pace, but the GPU's compute scales.
// The step is that of paper_step.hpp without collectives: 100 us of forward, 200 of backward, 30 of
// the optimizer.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// The GPU waits for launches in three fifths of each part, so it computes for 132 us.
Workload host_bound() {
  Workload step = workload();
  step.launch_waits = {.forward = 60_us, .backward = 120_us, .optimizer = 18_us};
  step.host_ready = {40_us, 110_us, 180_us};
  return step;
}

/// The same step with counted launches: 100 + 192 + 30 us.
Workload host_bound_counted() {
  Workload step = host_bound();
  step.launches = Launches{
      .forward = 10, .backward = {4, 4, 4}, .optimizer = 2, .cost = PartTimes{10_us, 16_us, 15_us}};
  return step;
}

/// The GPU holds up the host from forward on. The host would launch a kernel in 2 us.
Workload gpu_bound() {
  Workload step = workload();
  step.host_ready = {40_us, 110_us, 180_us};
  step.host_held = {120_us, 185_us, 250_us};
  step.launches = Launches{
      .forward = 10, .backward = {4, 4, 4}, .optimizer = 2, .cost = PartTimes{2_us, 2_us, 2_us}};
  return step;
}

/// Options with nothing to launch but the model's kernels.
SimulationOptions views() {
  SimulationOptions options = free_of_costs();
  options.ddp_to_set().gradient_as_bucket_view = true;
  return options;
}

StepTimes at_scale(const Workload& step, double scale) {
  SimulationOptions options = views();
  options.compute_scale = scale;
  return step_with(options, step, no_wire()).times;
}

}  // namespace

TEST_CASE("recorded host: at its own scale a step takes as long as recorded, with its waits") {
  const StepTimes times = at_scale(host_bound_counted(), 1);
  CHECK(times.iteration == 330_us);
  CHECK(times.forward == 100_us);
  CHECK(times.backward == 200_us);
  CHECK(times.optimizer == 30_us);
  CHECK(times.launch_bound == 198_us);
  CHECK(times.host == 322_us);
  // One GPU alone waits equally long.
  CHECK(times.loss[LossCause::launch_bound] == 0_us);
  CHECK(times.alone() == 330_us);
}

TEST_CASE("recorded host: if launches limit the step, a faster GPU does not shorten it") {
  const StepTimes twice = at_scale(host_bound_counted(), 2);
  CHECK(twice.iteration >= 322_us);
  CHECK(twice.iteration <= 330_us);
  CHECK(twice.launch_bound > 198_us);
  CHECK(at_scale(host_bound_counted(), 100).iteration >= 322_us);
}

TEST_CASE("recorded host: without counted launches, the waits stay and the host is where it was") {
  // Compute of 40, 80 and 12 us becomes 20, 40 and 6. Gradients would be written at 120, 196 and
  // 266, but the host reaches them at 140, 210 and 280. Another 8 us follow.
  const StepTimes twice = at_scale(host_bound(), 2);
  CHECK(twice.forward == 80_us);
  CHECK(twice.backward == 208_us);
  CHECK(twice.optimizer == 24_us);
  CHECK(twice.launch_bound == 198_us + 20_us + 14_us + 14_us);
  CHECK(twice.loss[LossCause::launch_bound] == 0_us);
  CHECK(twice.alone() == 312_us);
}

TEST_CASE("recorded host: a host behind its GPU does not delay gradients written before it came") {
  Workload step = workload();
  step.host_ready = {60_us, 130_us, 200_us};
  CHECK(at_scale(step, 1).backward == 200_us);
  CHECK(at_scale(step, 1).launch_bound == 0_us);
  // At twice the speed the GPU waits for launches at 150, 220 and 290, and half of 10 us follow.
  CHECK(at_scale(step, 2).forward + at_scale(step, 2).backward == 295_us);
}

TEST_CASE("recorded host: a late host holds a gradient for exactly as long as it is late") {
  // On a GPU twice as fast, the first gradient exists at 75 of 150 us. The host has reached the
  // others long before.
  const auto whole = [](Duration first) {
    Workload step = workload();
    step.host_ready = {first - 100_us, first - 100_us, first - 100_us};
    const StepTimes twice = at_scale(step, 2);
    return twice.forward + twice.backward;
  };
  CHECK(whole(74_us) == 150_us);
  CHECK(whole(75_us) == 150_us);
  CHECK(whole(75_us + Duration::picoseconds(1)) == 150_us + Duration::picoseconds(1));
  CHECK(whole(77_us) == 152_us);
}

TEST_CASE("recorded host: with a slower GPU the host catches up") {
  // In forward, 40 us more of compute leave 20 of its 60 us of waits. The other parts are alike:
  // the host still sets the pace.
  const StepTimes half = at_scale(host_bound_counted(), 0.5);
  CHECK(half.iteration == 330_us);
  CHECK(half.launch_bound == 20_us + 40_us + 6_us);
  // At a quarter of the speed no wait is left: four times 132 us.
  CHECK(at_scale(host_bound_counted(), 0.25).iteration == 528_us);
  CHECK(at_scale(host_bound_counted(), 0.25).launch_bound == 0_us);
}

TEST_CASE("recorded host: a cheaper launch shortens the waits by what it saves") {
  SimulationOptions options = views();
  options.launch_cost_known = true;
  options.costs.host_kernel = 7_us;
  // Ten launches are 3 us sooner each in forward, and the optimizer's two are 8 us sooner each. In
  // backward each gradient could save 36 us of its 30, 42 and 42 us of waits. Of the 6 us after the
  // last gradient, whose launches were not counted, 9/16 are saved.
  const StepTimes times = step_with(options, host_bound_counted(), no_wire()).times;
  CHECK(times.forward == 70_us);
  CHECK(times.backward == 80_us + 6_us + 6_us + 2.625_us);
  CHECK(times.optimizer == 14_us);
  CHECK(times.host == 7_us * 24);
  // The host is 66 us ahead of where it was. It launches p2's bucket at 140 - 66, before the GPU
  // has written it.
  CHECK(step_with(options, host_bound_counted(), no_wire()).buckets[0].launch == TimePoint(74_us));
}

TEST_CASE("recorded host: if the GPU limits the step, it scales with the GPU") {
  const StepTimes once = at_scale(gpu_bound(), 1);
  CHECK(once.iteration == 330_us);
  CHECK(once.host == 48_us);
  CHECK(once.launch_bound == 0_us);
  CHECK(at_scale(gpu_bound(), 2).iteration == 165_us);
  CHECK(at_scale(gpu_bound(), 0.5).iteration == 660_us);
  // At ten times the speed it waits for 48 us of launches.
  CHECK(at_scale(gpu_bound(), 10).iteration >= 48_us);
  CHECK(at_scale(gpu_bound(), 10).iteration < 60_us);
}

TEST_CASE("recorded host: its times do not scale, except waits that a slower GPU caused") {
  SimulationOptions options = views();
  options.compute_scale = 2;
  Workload step = gpu_bound();
  // Gradient p2 is written at 150, or 75 us sooner on the faster GPU. The host reached it at 140.
  CHECK(step_with(options, step, no_wire()).buckets[0].launch == TimePoint(65_us));
  step.host_held = {30_us, 30_us, 30_us};
  CHECK(step_with(options, step, no_wire()).buckets[0].launch == TimePoint(110_us));
  step.host_held.clear();
  CHECK(step_with(options, step, no_wire()).buckets[0].launch == TimePoint(140_us));
  options.compute_scale = 0.5;
  CHECK(step_with(options, step, no_wire()).buckets[0].launch == TimePoint(140_us));
}

TEST_CASE("recorded host: the first steps of a run continue as recorded if the host keeps up") {
  SimulationOptions options = views();
  options.iterations = 2;
  for (const StepResult& step : simulated(options, host_bound_counted(), no_wire()).iterations)
    CHECK(step.times.iteration == 330_us);
  options.compute_scale = 2;
  CHECK(simulated(options, host_bound_counted(), no_wire()).step.times.iteration >= 322_us);
}

TEST_CASE("recorded host: waits for the GPU do not make the host's step shorter") {
  // It did more than launch: even with launches of half the cost, the GPU waits as long.
  Workload step = host_bound_counted();
  step.launches->cost = PartTimes{5_us, 8_us, 7.5_us};
  step.parameters[kP1].batch_norm = true;
  SimulationOptions options = views();
  CHECK(step_with(options, step, no_wire()).times.iteration == 330_us);
  options.ddp_to_set().sync_batchnorm = true;
  CHECK(step_with(options, step, wire({0_us, 0_us, 0_us, 5_us, 10_us})).times.iteration == 350_us);
  options.ddp_to_set().sync_batchnorm = false;
  options.ddp_to_set().comm_hook = CommHook::power_sgd;
  CHECK(step_with(options, step, no_wire()).times.iteration >= 330_us);
}

TEST_CASE("recorded host: each micro-batch waits") {
  SimulationOptions options = views();
  options.accumulate = 2;
  Workload step = host_bound();
  const StepTimes times = step_with(options, step, no_wire()).times;
  CHECK(times.launch_bound == 2 * 180_us + 18_us);
}
