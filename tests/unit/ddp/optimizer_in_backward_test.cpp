// The step of paper_step.hpp whose optimizer steps bucket by bucket: its 30 us are 8.57, 17.14 and
// 4.29 us for 2, 4 and 1 MB.
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// An optimizer of 35 us, which is 10, 20 and 5 us for the buckets.
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

TEST_CASE("optimizer in backward: steps of one bucket hide the all-reduces of the others") {
  // b0 is reduced at 190, between the gradients of 150 and 220. So it is stepped before p0, from
  // 220 to 230. Backward ends at 310, when b1 is reduced. b2 is reduced from then to 330, during
  // b1's steps. Only the 5 us of b2's steps are left, so the step is shorter than 365 us.
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
  // b0 is reduced until 200. p1 is computed from 150 to 220, also when it consists of several
  // kernels.
  Workload step = workload_of_35();
  step.launches = Launches{.forward = 4, .backward = {2, 2, 2}, .optimizer = 1};
  SimulationOptions options = stepping(free_of_costs());
  options.costs.host_kernel = {};
  CHECK(step_with(options, step).times.exposed_in_backward == Duration());
  CHECK(step_with(options, step).times.iteration == 335_us);
}

TEST_CASE("optimizer in backward: the host steps one parameter after the other") {
  // Three buckets with one parameter each: 3 us, and 1 us for its kernel.
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
  // A kernel takes 3 us. Adam has seven kernels for each parameter, 21 us. That exceeds the
  // recorded 10, 20 and 5 us by 28 us together. A division replaces two copies.
  SimulationOptions options = stepping(all_costs());
  options.optimizer.kind = Optimizer::adam;
  const StepTimes times = step_with(options, workload_of_35()).times;
  const StepTimes sgd = step_with(stepping(all_costs()), workload_of_35()).times;
  CHECK(times.loss[LossCause::copies] - sgd.loss[LossCause::copies] == 11_us + 1_us + 16_us);
  CHECK(times.alone() == sgd.alone());
}

TEST_CASE("optimizer in backward: parameters outside DDP are stepped at the end") {
  Workload step = workload_of_35();
  step.parameters[kP0].ignored = true;
  const StepTimes times = step_with(stepping(free_of_costs()), step, wire({40_us, 90_us})).times;
  CHECK(times.optimizer == 35_us);
  CHECK(times.alone() == 335_us);
}

TEST_CASE("optimizer in backward: without a time of the optimizer the job is refused") {
  Workload step = workload();
  step.optimizer.reset();
  const Job job(step, gpus(), stepping(free_of_costs()), wire());
  REQUIRE(cannot_simulate(job));
  CHECK(cannot_simulate(job)->find("no time of the optimizer") != std::string::npos);
}
