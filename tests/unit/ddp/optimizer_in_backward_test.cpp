// The step of paper_step.hpp whose optimizer steps bucket by bucket: of 30 us 8.57, 17.14 and 4.29 for 2, 4 and 1 MB.
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// 35 us of optimizer: 10, 20 and 5.
Workload workload_of_35() {
  Workload step = workload();
  step.optimizer = 35_us;
  return step;
}

SimulationOptions stepping(SimulationOptions options) {
  options.ddp_to_set().optimizer_in_backward = true;
  options.torch = {2, 4};
  options.optimizer.kind = Optimizer::sgd;
  return options;
}

}  // namespace

TEST_CASE("optimizer in backward: steps of one bucket hide what is left of the others") {
  // b0 190, between gradients of 150 and 220: in front of p0 (220 to 230). Backward ends at 310, b1 took until 310, b2
  // from then to 330: meanwhile b1's steps. 5 us of b2's are left, of 365 us without.
  const StepResult step = step_with(stepping(free_of_costs()), workload_of_35());
  CHECK(step_with(free_of_costs(), workload_of_35()).times.iteration == 365_us);
  CHECK(differences(step.times, {.iteration = 335_us,
                                 .forward = 100_us,
                                 .backward = 200_us,
                                 .backward_compute = 200_us,
                                 .communication = 150_us,
                                 .exposed_communication = 0_us,
                                 .overlap = 1,
                                 .optimizer = 35_us}) == "");
  CHECK(step.times.optimizer_in_backward == 10_us);
  CHECK(end_of_backward(step.times) == small::at(310_us));
  CHECK(step.times.alone() == 335_us);
  CHECK(step.times.loss.total() == Duration());
}

TEST_CASE(
    "optimizer in backward: no gradient waits for a bucket that is reduced while it is computed") {
  // b0 until 200: p1 is computed from 150 to 220, and as one stretch of several kernels, too.
  Workload step = workload_of_35();
  step.launches = Launches{.forward = 4, .backward = {2, 2, 2}, .optimizer = 1};
  SimulationOptions options = stepping(free_of_costs());
  options.costs.host_kernel = {};
  CHECK(step_with(options, step).times.exposed_in_backward == Duration());
  CHECK(step_with(options, step).times.iteration == 335_us);
}

TEST_CASE("optimizer in backward: the host steps one parameter after the other") {
  // Three buckets of a parameter each: 3 us and 1 for its kernel.
  Workload step = workload_of_35();
  step.launches = Launches{.forward = 0, .backward = {0, 0, 0}, .optimizer = 0};
  const auto host = [&](SimulationOptions options) {
    options.ddp_to_set().gradient_as_bucket_view = true;
    return *step_with(options, step).times.host;
  };
  CHECK(host(stepping(all_costs())) - host(all_costs()) == 12_us);
}

TEST_CASE(
    "optimizer in backward: kernels of single parameters take longer than the recorded optimizer") {
  // 3 us a kernel: of Adam's seven for each parameter 21 us, beyond 10, 20 and 5 recorded: 28 us, and a division in
  // place of two copies.
  SimulationOptions options = stepping(all_costs());
  options.optimizer.kind = Optimizer::adam;
  const StepTimes times = step_with(options, workload_of_35()).times;
  const StepTimes sgd = step_with(stepping(all_costs()), workload_of_35()).times;
  CHECK(times.loss[LossCause::copies] - sgd.loss[LossCause::copies] == 11_us + 1_us + 16_us);
  CHECK(times.alone() == sgd.alone());
}

TEST_CASE("optimizer in backward: of parameters outside DDP it steps at the end") {
  Workload step = workload_of_35();
  step.parameters[kP0].ignored = true;
  const StepTimes times = step_with(stepping(free_of_costs()), step, wire({40_us, 90_us})).times;
  CHECK(times.optimizer == 35_us);
  CHECK(times.alone() == 335_us);
}

TEST_CASE("optimizer in backward: without its time there is nothing to run") {
  Workload step = workload();
  step.optimizer.reset();
  const Job job(step, gpus(), stepping(free_of_costs()), wire());
  REQUIRE(cannot_simulate(job));
  CHECK(cannot_simulate(job)->find("no time of the optimizer") != std::string::npos);
}
