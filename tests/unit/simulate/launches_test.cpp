// The host launches every kernel of the step of paper_step.hpp: ten in forward, four for each
// gradient and two in the optimizer, 24 in all. The GPU alone takes 330 us, or 360 us with its
// all-reduces.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

Workload launched() {
  Workload step = workload();
  step.launches = Launches{.forward = 10, .backward = {4, 4, 4}, .optimizer = 2};
  return step;
}

SimulationOptions launching(SimulationOptions options, Duration each) {
  options.costs.host_kernel = each;
  options.costs.host_copy_kernel = 5_us;
  options.ddp_to_set().gradient_as_bucket_view = true;
  return options;
}

StepTimes times_of(const SimulationOptions& options, const RecordedModel& model = wire()) {
  return step_with(options, launched(), model).times;
}

}  // namespace

TEST_CASE("launches: a host that takes longer than the GPU sets the pace") {
  const StepTimes times = times_of(launching(free_of_costs(), 20_us), no_wire());
  CHECK(times.host == 480_us);
  CHECK(times.iteration == 480_us);
  CHECK(times.launch_bound == 150_us);
  CHECK(times.forward + times.backward + times.optimizer == 480_us);
}

TEST_CASE("launches: a host that takes less time gets ahead, and nothing waits for it") {
  const StepTimes times = times_of(launching(free_of_costs(), 10_us), no_wire());
  CHECK(times.host == 240_us);
  CHECK(times.iteration == 330_us);
  CHECK(times.launch_bound == 0_us);
}

TEST_CASE("launches: while the GPU waits for an all-reduce the host gets ahead") {
  const SimulationOptions options = launching(free_of_costs(), 14_us);
  CHECK(times_of(options).host == 336_us);
  CHECK(times_of(options, no_wire()).iteration == 336_us);
  CHECK(times_of(options).iteration == 360_us);
  CHECK(times_of(options).launch_bound == 0_us);
}

TEST_CASE("launches: the host also launches DDP's own kernels") {
  // There are three hooks of 10 us, and three all-reduces of 40 us.
  SimulationOptions options = launching(all_costs(), 20_us);
  CHECK(times_of(options).host == 480_us + 150_us);
  CHECK(times_of(options).iteration >= 630_us);
  SUBCASE("copies out of the buckets") {
    options.ddp_to_set().gradient_as_bucket_view = false;
    CHECK(times_of(options).host == 480_us + 150_us + 15_us);
  }
  SUBCASE("a hook in Python") {
    options.ddp_to_set().comm_hook = CommHook::fp16_compress;
    CHECK(times_of(options).host == 480_us + 150_us + 90_us);
  }
  SUBCASE("micro-batches launch their kernels again, and no hooks") {
    options.accumulate = 3;
    CHECK(times_of(options).host ==
          480_us + 150_us + 2 * 440_us + 6 * 5_us);  // with adding to gradients
  }
  SUBCASE("buffers are flattened by one kernel, and copied back by one each") {
    Workload step = launched();
    step.buffers = {{.dtype = Dtype::float32, .bytes = 1000_B, .tensors = 7}};
    options.ddp_to_set().broadcast_buffers = true;
    CHECK(step_with(options, step, wire({5_us, 40_us, 90_us, 20_us})).times.host ==
          480_us + 150_us + 40_us);
  }
}

TEST_CASE("launches: the loss is the wait for them that one GPU alone would not have") {
  const auto lost = [](const SimulationOptions& options, const RecordedModel& model) {
    return step_with(options, launched(), model).times.loss[LossCause::launch_bound];
  };
  CHECK(lost(launching(free_of_costs(), 20_us), no_wire()) == 0_us);
  // One GPU alone takes the 336 us of its launches, and waits for 6 of them. With all-reduces to
  // wait for, the host gets ahead.
  CHECK(lost(launching(free_of_costs(), 14_us), wire()) == -6_us);
  // Hooks and launches of DDP, 150 us, make a host late that would have kept up with 24 kernels of
  // 10 us.
  CHECK(lost(launching(all_costs(), 10_us), no_wire()) > 0_us);
}

TEST_CASE("launches: a step is neither shorter than its launches nor than its GPU's work") {
  for (int each = 1; each <= 40; ++each)
    for (const SimulationOptions& costs : {free_of_costs(), all_costs()}) {
      const Duration cost = Duration::microseconds(each);
      const StepTimes times = times_of(launching(costs, cost));
      const StepTimes ahead = times_of(launching(costs, 0_us));
      CAPTURE(each);
      CHECK(times.iteration >= *times.host);
      CHECK(times.iteration >= ahead.iteration);
      // It is not much longer than the longer of the two, because the pipeline's latency is paid
      // once.
      CHECK(times.iteration <= std::max(*times.host, ahead.iteration) + 2_us);
    }
}

TEST_CASE("launches: each of the first steps begins where its host is") {
  SimulationOptions options = launching(free_of_costs(), 20_us);
  options.iterations = 3;
  const SimulationResult result = simulated(options, launched(), no_wire());
  REQUIRE(result.iterations.size() == 3);
  // Nothing is launched ahead of the first step. The last kernel of p0, launched at 440, takes a
  // quarter of 70 us. Backward takes 10 more, and the optimizer 30.
  CHECK(result.iterations[0].times.iteration == Duration::microseconds(497.5));
  CHECK(result.iterations[2].times.iteration == 480_us);
}

TEST_CASE("launches: a host that waits for the GPU is as far ahead as its script allows") {
  SimulationOptions options = launching(free_of_costs(), 10_us);
  const auto step_ahead = [&](std::optional<int> steps) {
    Workload step = launched();
    step.launches->steps_ahead = steps;
    return step_with(options, step, no_wire());
  };
  // It launches 14 kernels before the first bucket's. The step takes the GPU 330 us.
  CHECK(step_ahead(1).buckets[0].launch == TimePoint(140_us - 330_us));
  CHECK(step_ahead(3).buckets[0].launch == TimePoint(140_us - 990_us));
  CHECK(step_ahead(1).times.iteration == 330_us);
  // If the host is never ahead, every step is like the first one of a training.
  options.iterations = 1;
  const StepTimes cold = times_of(options, no_wire());
  options.iterations = 0;
  CHECK(step_ahead(0).times.iteration == cold.iteration);
  CHECK(step_ahead(0).times.iteration > 330_us);
  // A host that is slower than its GPU never has to wait for it.
  options.costs.host_kernel = 20_us;
  CHECK(step_ahead(1).times.iteration == 480_us);
}

TEST_CASE("launches: if a recording's clock includes the waits for the host, none are counted") {
  CHECK_FALSE(step_with(launching(free_of_costs(), 20_us), workload(), wire()).times.host);
}
