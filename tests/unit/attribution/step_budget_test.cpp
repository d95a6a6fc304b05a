// What the GPU does in the step of paper_step.hpp. It computes for 360 us, less 30 us that it
// waits.
#include "ddpsim/sim/attribution/step_budget.hpp"

#include "ddpsim/sim/attribution/training_speed.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

DataLoading loading(Duration median, bool processes) {
  return {.median = median,
          .p90 = median,
          .mean = median,
          .count = 9,
          .processes = processes,
          .interval = {}};
}

}  // namespace

TEST_CASE("step budget: parts add up to the step, and each wait is counted for its reason") {
  const StepTimes free = step_with(free_of_costs()).times;
  const StepBudget budget = budget_of(free);
  CHECK(budget.step() == free.iteration);
  CHECK(budget[BudgetPart::communication] == 30_us);
  CHECK(budget[BudgetPart::busy] == 330_us);
  CHECK(budget.largest_wait() == BudgetPart::communication);

  const StepTimes costly = step_with(all_costs()).times;
  CHECK(budget_of(costly).step() == costly.iteration);
  CHECK(budget_of(costly)[BudgetPart::host] == costly.loss[LossCause::hooks]);

  SimulationOptions slower = free_of_costs();
  slower.variation.stragglers = {{1, 1.5}};
  const StepTimes waiting = step_with(slower).times;
  CHECK(budget_of(waiting).step() == waiting.iteration);
  CHECK(budget_of(waiting)[BudgetPart::ranks] == waiting.loss[LossCause::straggler]);
  CHECK(budget_of(waiting)[BudgetPart::ranks] == 60_us);
}

TEST_CASE("step budget: a pause counts as input as long as the trainer waited, the rest as host") {
  Workload step = workload();
  step.iteration = 450_us;  // a pause of 120
  step.data_loading = loading(100_us, false);
  const StepBudget replayed = budget_of(step_with(free_of_costs(), step).times);
  CHECK(replayed.step() == 480_us);
  CHECK(replayed[BudgetPart::input] == 100_us);
  CHECK(replayed[BudgetPart::host] == 20_us);
  CHECK(replayed.between_steps == 20_us);
  CHECK(replayed.largest_wait() == BudgetPart::input);
  // Workers bounded the recording, and a loader is given.
  step.data_loading = loading(100_us, true);
  step.data_loading->interval = 450_us;
  CHECK(budget_of(step_with(free_of_costs(), step).times)[BudgetPart::input] == 70_us);
  SimulationOptions loaded = free_of_costs();
  loaded.data_loader = DataLoader{.num_workers = 1, .batch = 500_us};
  CHECK(budget_of(step_with(loaded).times)[BudgetPart::input] == 140_us);
}

TEST_CASE("scaling efficiency: one GPU by itself waits for its own loader, too") {
  const StepTimes plain = step_with(free_of_costs()).times;
  SimulationOptions options = free_of_costs();
  options.data_loader = DataLoader{.num_workers = 1, .batch = 500_us};
  const StepTimes own = step_with(options).times;
  CHECK(own.alone() == plain.alone());
  CHECK(own.alone() + own.input_alone == 500_us);
  CHECK(scaling_efficiency(own) == 1);
  CHECK(scaling_efficiency(plain) < 1);
  // A storage that all ranks read from gives each rank its share. One GPU alone gets all of it.
  options.data_loader->batch.reset();
  options.data_loader->sample_bytes = Bytes(1'000'000);
  options.data_loader->storage = Bandwidth::bytes_per_second(4e9);
  options.data_loader->storage_shared = true;
  const StepTimes shared = step_with(options).times;
  CHECK(shared.input > Duration());
  CHECK(shared.input_alone < shared.input);
  CHECK(scaling_efficiency(shared) < 1);
}

TEST_CASE("step budget: a recording has one before anything is simulated") {
  Workload step = workload();
  CHECK_FALSE(budget_of(step));
  step.iteration = 450_us;
  step.data_loading = loading(100_us, false);
  step.launch_waits = {.forward = 40_us, .backward = 5_us, .optimizer = 0_us};
  step.recorded_with.exposed = 15_us;
  const std::optional<StepBudget> budget = budget_of(step);
  REQUIRE(budget);
  CHECK(budget->step() == 450_us);
  CHECK((*budget)[BudgetPart::input] == 100_us);
  CHECK((*budget)[BudgetPart::communication] == 15_us);
  CHECK((*budget)[BudgetPart::host] == 50_us);  // 45 for launches, 5 of the pause
  CHECK(budget->between_steps == 5_us);
  CHECK((*budget)[BudgetPart::busy] == 285_us);
  // Workers gave a batch every 600 us on average, but the chosen step waited less.
  step.data_loading->processes = true;
  step.data_loading->interval = 600_us;
  CHECK(budget_of(step)->step() == 600_us);
  CHECK((*budget_of(step))[BudgetPart::input] == 250_us);
  CHECK((*budget_of(step))[BudgetPart::busy] == 285_us);
}

TEST_CASE("step budget: without waits there is no largest wait") {
  CHECK_FALSE(StepBudget().largest_wait());
  CHECK(name_of(BudgetPart::overhead) == "unexplained");
}
