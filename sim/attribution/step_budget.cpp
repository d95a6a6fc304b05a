#include "ddpsim/sim/attribution/step_budget.hpp"

#include <algorithm>
#include <numeric>

namespace ddpsim {
namespace {

BudgetPart part_of(LossCause cause) {
  switch (cause) {
    case LossCause::exposed_all_reduce:
    case LossCause::used_map:
    case LossCause::buffer_broadcast:
    case LossCause::sync_batchnorm:
    case LossCause::model_averaging:
    case LossCause::exposed_all_gather:
    case LossCause::exposed_reduce_scatter:
    case LossCause::exposed_broadcast:
      return BudgetPart::communication;
    case LossCause::hooks:
      return BudgetPart::host;
    case LossCause::slowest_gpu:
    case LossCause::straggler:
    case LossCause::jitter:
      return BudgetPart::ranks;
    case LossCause::unexplained:
      return BudgetPart::overhead;
    // Launches and input are taken from the step itself, because one GPU waits for them too.
    default:
      return BudgetPart::busy;
  }
}

/// Counts all time without waits as busy.
StepBudget with_work(StepBudget waits, Duration step) {
  waits[BudgetPart::busy] = Duration();
  waits[BudgetPart::busy] = step - waits.step();
  return waits;
}

}  // namespace

std::string_view name_of(BudgetPart part) {
  constexpr std::array<std::string_view, kBudgetParts> kNames = {
      "busy", "host", "input", "communication", "ranks", "unexplained"};
  return kNames[static_cast<std::size_t>(part)];
}

Duration StepBudget::step() const {
  return std::accumulate(times_.begin(), times_.end(), Duration());
}

std::optional<BudgetPart> StepBudget::largest_wait() const {
  std::optional<BudgetPart> largest;
  for (const BudgetPart part :
       {BudgetPart::host, BudgetPart::input, BudgetPart::communication, BudgetPart::ranks})
    if ((*this)[part] > (largest ? (*this)[*largest] : Duration())) largest = part;
  return largest;
}

StepBudget budget_of(const StepTimes& times) {
  StepBudget budget;
  for (const LossCause cause : all_loss_causes()) budget[part_of(cause)] += times.loss[cause];
  budget.between_steps = times.pause;
  budget[BudgetPart::host] += times.launch_bound + budget.between_steps;
  budget[BudgetPart::input] += times.input;
  return with_work(budget, times.iteration);
}

std::optional<StepBudget> budget_of(const Recorded& recorded) {
  if (!recorded.iteration) return std::nullopt;
  const Duration waited = waited_for_data(recorded);
  // If workers bounded the recording, this is its mean step, not the one that was chosen.
  const Duration step =
      recorded.data_loading && recorded.data_loading->interval
          ? std::max(*recorded.data_loading->interval, *recorded.iteration - waited)
          : *recorded.iteration;
  const RecordedWith& with = recorded.recorded_with;
  const PartTimes& launches = recorded.launch_waits;
  StepBudget budget;
  budget[BudgetPart::input] = waited + step - *recorded.iteration;
  budget[BudgetPart::communication] =
      with.exposed.value_or(Duration()) + with.buffer_broadcast.value_or(Duration());
  budget.between_steps = std::max(stall(recorded).value_or(Duration()), Duration()) - waited;
  budget[BudgetPart::host] =
      launches.forward + launches.backward + launches.optimizer + budget.between_steps;
  return with_work(budget, step);
}

}  // namespace ddpsim
