// A recorded host beside another GPU: what it launches keeps its own pace, what the GPU computes scales. The step of
// paper_step.hpp, without collectives: 100 us of forward, 200 of backward, 30 of the optimizer.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// The GPU waits for launches in three fifths of each part: it computes for 132 us.
Workload host_bound() {
  Workload step = workload();
  step.launch_waits = {.forward = 60_us, .backward = 120_us, .optimizer = 18_us};
  step.host_ready = {40_us, 110_us, 180_us};
  return step;
}

/// And what that is to launch: 100 + 192 + 30 us.
Workload host_bound_counted() {
  Workload step = host_bound();
  step.launches = Launches{
      .forward = 10, .backward = {4, 4, 4}, .optimizer = 2, .cost = PartTimes{10_us, 16_us, 15_us}};
  return step;
}

/// The host is held up by the GPU from forward on: it would launch a kernel in 2 us.
Workload gpu_bound() {
  Workload step = workload();
  step.host_ready = {40_us, 110_us, 180_us};
  step.host_held = {120_us, 185_us, 250_us};
  step.launches = Launches{
      .forward = 10, .backward = {4, 4, 4}, .optimizer = 2, .cost = PartTimes{2_us, 2_us, 2_us}};
  return step;
}

/// Nothing to launch but the model's kernels.
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

TEST_CASE("recorded host: at its own scale a step takes what it took, waits shown") {
  const StepTimes times = at_scale(host_bound_counted(), 1);
  CHECK(times.iteration == 330_us);
  CHECK(times.forward == 100_us);
  CHECK(times.backward == 200_us);
  CHECK(times.optimizer == 30_us);
  CHECK(times.launch_bound == 198_us);
  CHECK(times.host == 322_us);
  // One GPU by itself waits as long.
  CHECK(times.loss[LossCause::launch_bound] == 0_us);
  CHECK(times.alone() == 330_us);
}

TEST_CASE("recorded host: where it is bound by launches a faster GPU makes no faster step") {
  const StepTimes twice = at_scale(host_bound_counted(), 2);
  CHECK(twice.iteration >= 322_us);
  CHECK(twice.iteration <= 330_us);
  CHECK(twice.launch_bound > 198_us);
  CHECK(at_scale(host_bound_counted(), 100).iteration >= 322_us);
}

TEST_CASE("recorded host: where nobody counted, the waits stay, and the host is where it was") {
  // 40, 80 and 12 us of compute become 20, 40 and 6. Gradients would be written at 120, 196 and 266: the host comes to
  // them at 140, 210 and 280, and 8 us follow.
  const StepTimes twice = at_scale(host_bound(), 2);
  CHECK(twice.forward == 80_us);
  CHECK(twice.backward == 208_us);
  CHECK(twice.optimizer == 24_us);
  CHECK(twice.launch_bound == 198_us + 20_us + 14_us + 14_us);
  CHECK(twice.loss[LossCause::launch_bound] == 0_us);
  CHECK(twice.alone() == 312_us);
}

TEST_CASE(
    "recorded host: one behind its GPU holds no gradient up that was written before it came") {
  Workload step = workload();
  step.host_ready = {60_us, 130_us, 200_us};
  CHECK(at_scale(step, 1).backward == 200_us);
  CHECK(at_scale(step, 1).launch_bound == 0_us);
  // Whose launches it was then that the GPU waited for: 150, 220, 290, and half of 10 us.
  CHECK(at_scale(step, 2).forward + at_scale(step, 2).backward == 295_us);
}

TEST_CASE("recorded host: it holds a gradient for as long as it is behind, however short") {
  // Twice as fast the first gradient is there at 75 of 150 us; the others the host has come to long before.
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

TEST_CASE("recorded host: beside a slower GPU it catches up") {
  // 40 us more of compute in forward leave 20 of its 60 us of waits, and so on: the host still sets the pace.
  const StepTimes half = at_scale(host_bound_counted(), 0.5);
  CHECK(half.iteration == 330_us);
  CHECK(half.launch_bound == 20_us + 40_us + 6_us);
  // At a quarter there is none left: four times 132 us.
  CHECK(at_scale(host_bound_counted(), 0.25).iteration == 528_us);
  CHECK(at_scale(host_bound_counted(), 0.25).launch_bound == 0_us);
}

TEST_CASE("recorded host: a cheaper launch takes its saving out of the waits") {
  SimulationOptions options = views();
  options.launch_cost_known = true;
  options.costs.host_kernel = 7_us;
  // Ten launches 3 us sooner in forward, 8 in the optimizer's two; in backward 36 us for each gradient, of 30, 42 and
  // 42 us of waits. Of the 6 us behind the last, whose launches nobody counted, 9 of 16.
  const StepTimes times = step_with(options, host_bound_counted(), no_wire()).times;
  CHECK(times.forward == 70_us);
  CHECK(times.backward == 80_us + 6_us + 6_us + 2.625_us);
  CHECK(times.optimizer == 14_us);
  CHECK(times.host == 7_us * 24);
  // The host, 66 us ahead of where it was, launches p2's bucket at 140 - 66, before the GPU has written it.
  CHECK(step_with(options, host_bound_counted(), no_wire()).buckets[0].launch == TimePoint(74_us));
}

TEST_CASE("recorded host: bound by the GPU, a step scales with it") {
  const StepTimes once = at_scale(gpu_bound(), 1);
  CHECK(once.iteration == 330_us);
  CHECK(once.host == 48_us);
  CHECK(once.launch_bound == 0_us);
  CHECK(at_scale(gpu_bound(), 2).iteration == 165_us);
  CHECK(at_scale(gpu_bound(), 0.5).iteration == 660_us);
  // Ten times as fast it waits for 48 us of launches.
  CHECK(at_scale(gpu_bound(), 10).iteration >= 48_us);
  CHECK(at_scale(gpu_bound(), 10).iteration < 60_us);
}

TEST_CASE("recorded host: its instants do not scale, but for what a slower GPU held it up") {
  SimulationOptions options = views();
  options.compute_scale = 2;
  Workload step = gpu_bound();
  // p2 is written at 150, on the faster GPU 75 us sooner, and the host came to it at 140.
  CHECK(step_with(options, step, no_wire()).buckets[0].launch == TimePoint(65_us));
  step.host_held = {30_us, 30_us, 30_us};
  CHECK(step_with(options, step, no_wire()).buckets[0].launch == TimePoint(110_us));
  step.host_held.clear();
  CHECK(step_with(options, step, no_wire()).buckets[0].launch == TimePoint(140_us));
  options.compute_scale = 0.5;
  CHECK(step_with(options, step, no_wire()).buckets[0].launch == TimePoint(140_us));
}

TEST_CASE("recorded host: the first steps of a run go on as recorded where the host keeps up") {
  SimulationOptions options = views();
  options.iterations = 2;
  for (const StepResult& step : simulated(options, host_bound_counted(), no_wire()).iterations)
    CHECK(step.times.iteration == 330_us);
  options.compute_scale = 2;
  CHECK(simulated(options, host_bound_counted(), no_wire()).step.times.iteration >= 322_us);
}

TEST_CASE("recorded host: what makes it wait for the GPU does not make its step shorter") {
  // It did more than launch: with launches of half the cost the GPU still waits as long.
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

TEST_CASE("recorded host: micro-batches wait each") {
  SimulationOptions options = views();
  options.accumulate = 2;
  Workload step = host_bound();
  const StepTimes times = step_with(options, step, no_wire()).times;
  CHECK(times.launch_bound == 2 * 180_us + 18_us);
}
