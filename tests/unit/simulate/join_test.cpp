// Join on the step of paper_step.hpp, which takes 360 us, or 389 us with every cost. Join's own
// collectives take no time here.
#include <algorithm>

#include "ddpsim/sim/data/epoch.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

SimulationOptions uneven(SimulationOptions options, UnevenInputs inputs) {
  options.uneven_inputs = inputs;
  return options;
}

std::vector<std::string_view> told(const std::vector<JoinCollective>& collectives) {
  std::vector<std::string_view> what;
  for (const JoinCollective& one : collectives) what.push_back(one.what);
  return what;
}

}  // namespace

TEST_CASE("join: collectives that nobody waits for cost nothing") {
  const UnevenInputs inputs{.least = 4, .most = 6, .total = 10};
  CHECK(step_with(uneven(free_of_costs(), inputs)).times.iteration == 360_us);
  const StepResult step = step_with(uneven(all_costs(), inputs));
  CHECK(step.times.iteration == 389_us);
  const JoinedEpoch& epoch = *step.joined;
  CHECK(told(epoch.iteration) == std::vector<std::string_view>{"ranks not joined",
                                                               "backward reduces", "bucket",
                                                               "bucket", "bucket"});
  CHECK(told(epoch.joined) == told(epoch.iteration));
  CHECK(epoch.joined.front().host_waits);
  CHECK_FALSE(epoch.iteration.front().host_waits);
  CHECK(told(epoch.end) ==
        std::vector<std::string_view>{"ranks not joined", "common rank", "model"});
  CHECK(epoch.end.back().elements == 7'000'000 / 4);
  CHECK(epoch.iterations == 6);
  CHECK(epoch.tail == 2);
  CHECK(epoch.time == 389_us * 6 + epoch.end_time);
}

TEST_CASE("join: a host that reads whether any rank has ended holds up forward") {
  // Two launches end at 80. The second collective's answer arrives at 80 + 12 + 3. It is read, and
  // the host continues at 95 + 12 + 40, so the step begins at 147.
  const UnevenInputs inputs{.least = 4, .most = 6, .total = 10, .throw_on_early_termination = true};
  const StepResult step = step_with(uneven(all_costs(), inputs));
  CHECK(step.times.iteration == 389_us + 147_us);
  CHECK(step.times.forward == 100_us + 147_us);
  CHECK(step.times.loss[LossCause::hooks] ==
        step_with(all_costs()).times.loss[LossCause::hooks] + 147_us);
  const JoinedEpoch& epoch = *step.joined;
  CHECK(epoch.step_without == 389_us);
  CHECK(epoch.iterations == 4);
  CHECK(epoch.tail == 0);
  CHECK(epoch.skipped == 2);
  CHECK(told(epoch.end) == std::vector<std::string_view>{"ranks not joined", "early termination"});
}

TEST_CASE("join: buffers come from the highest rank that has inputs") {
  Workload step = workload();
  step.buffers = {{.dtype = Dtype::float32, .bytes = 400_B, .tensors = 2},
                  {.dtype = Dtype::int64, .bytes = 8_B, .tensors = 1}};
  const UnevenInputs inputs{.least = 1, .most = 1, .total = 2};
  SimulationOptions options = uneven(free_of_costs(), inputs);
  options.ddp_to_set().broadcast_buffers = true;
  const JoinedEpoch with = *step_with(options, step).joined;
  CHECK(told(with.iteration) ==
        std::vector<std::string_view>{"ranks not joined", "common rank", "buffers", "buffers",
                                      "backward reduces", "bucket", "bucket", "bucket"});
  CHECK(with.iteration[1].dtype == Dtype::int64);
  CHECK(with.iteration[1].op == "max");
  CHECK(with.end.size() == 4);  // parameters and buffers of float32 together
  CHECK(with.end[2].elements == 7'000'000 / 4 + 100);
  options.ddp_to_set().broadcast_buffers = false;
  const JoinedEpoch without = *step_with(options, step).joined;
  CHECK(without.end.size() == 3);
  CHECK(without.end[2].elements == 7'000'000 / 4);
}

TEST_CASE("join: each micro-batch's forward tells the others, whether it reduces or not") {
  SimulationOptions options = uneven(free_of_costs(), {.least = 1, .most = 1, .total = 2});
  options.accumulate = 2;
  const StepResult step = step_with(options);
  CHECK(std::ranges::count(told(step.joined->iteration), "ranks not joined") == 2);
  CHECK(std::ranges::count(told(step.joined->iteration), "bucket") == 3);
}

TEST_CASE("join: the listed collectives are the scheduled ones, also with a frozen parameter") {
  Workload step = workload();
  step.buffers = {{.dtype = Dtype::float32, .bytes = 400_B, .tensors = 2}};
  Parameter frozen;
  frozen.name = "backbone.weight";
  frozen.shape = {{100, 100}};
  frozen.frozen = true;
  step.parameters.push_back(frozen);
  SimulationOptions options = uneven(
      free_of_costs(), {.least = 4, .most = 6, .total = 10, .throw_on_early_termination = true});
  options.ddp_to_set().broadcast_buffers = true;
  options.ddp_to_set().find_unused_parameters = true;
  options.accumulate = 2;
  const StepResult result = step_with(options, step);
  std::vector<std::int64_t> listed;
  for (const JoinCollective& one : result.joined->iteration)
    listed.push_back(one.elements * element_size(one.dtype));
  std::vector<std::int64_t> scheduled;
  for (const CollectiveResult& one : result.collectives) scheduled.push_back(one.bytes.count());
  std::ranges::sort(listed);
  std::ranges::sort(scheduled);
  CHECK(listed == scheduled);
}
