#include "budget_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "data_lines.hpp"
#include "loss_lines.hpp"
#include "report_lines.hpp"

namespace ddpsim {
namespace {

/// Share of the step from which a wait is named in the first line.
constexpr double kLeadingWait = 0.1;
/// Share of the step below which a wait is not mentioned.
constexpr double kNegligible = 0.005;
/// Share of the wait for the host that lies between steps. From the first on the text says "between
/// steps"; from the second on it advises about the script instead of kernel launches.
constexpr double kNearlyAllBetween = 0.9;
constexpr double kMostlyBetween = 0.5;

std::string_view waits_for(BudgetPart part) {
  switch (part) {
    case BudgetPart::host:
      return "the host";
    case BudgetPart::input:
      return "input";
    case BudgetPart::communication:
      return "communication";
    default:
      return "slower GPUs";
  }
}

std::string why_input(const std::optional<DataSupply>& data, int digits) {
  if (!data) return "";
  if (!data->recorded) return data_cause(*data);
  if (!data->recorded->processes)
    return fmt::format(": the training thread loads its batches itself (num_workers=0), in {} each",
                       time_text(data->recorded->median, digits));
  return data->simulated ? fmt::format(": its workers deliver a batch every {}",
                                       time_text(data->interval, digits))
                         : "";
}

/// How much of the wait for the host lies between steps; empty if launches cause most of it.
std::string where_host(const StepBudget& budget, int digits, TimeUnit unit) {
  const Duration host = budget[BudgetPart::host];
  if (budget.between_steps >= host.scaled(kNearlyAllBetween)) return " between steps";
  return budget.between_steps < host.scaled(kMostlyBetween)
             ? ""
             : fmt::format(", {} of it between steps",
                           time_text(budget.between_steps, digits, unit));
}

/// Whether a fused optimizer would spare the host much.
bool launches_many_in_optimizer(const Workload& workload) {
  constexpr std::int64_t kMany = 20;  // one in so many
  const std::optional<Launches>& launches = workload.launches;
  return !launches || launches->optimizer * kMany > launches->forward + launches->of_backward();
}

}  // namespace

std::string_view host_remedy(const ReportContext& context, const StepBudget& budget) {
  if (launch_bound(context.job.workload()))
    return "Measure the step without a profiler first (--measured-step).";
  return budget.between_steps >= budget[BudgetPart::host].scaled(kMostlyBetween)
             ? "Look at what the trainer does there: metrics, logging, .item(), checkpoints."
         : launches_many_in_optimizer(context.job.workload())
             ? "Fewer, larger kernels help: torch.compile, CUDA graphs, a fused optimizer, a "
               "larger batch."
             : "Fewer, larger kernels help: torch.compile, CUDA graphs, a larger batch.";
}

std::string waits_for_whom(const Job& job, BudgetPart part) {
  const std::vector<Straggler>& slow = job.options().variation.stragglers;
  return part == BudgetPart::ranks && slow.size() == 1
             ? fmt::format("rank {}, the slowest", slow.front().rank)
             : std::string(waits_for(part));
}

std::optional<BudgetPart> leading_wait(const ReportContext& context, const ReportedStep& step) {
  const std::optional<Replay>& replay = context.trust.replay;
  if (replay && replay->contradicted()) return std::nullopt;
  const std::optional<BudgetPart> largest = step.budget.largest_wait();
  return largest && step.budget[*largest] >= step.budget.step().scaled(kLeadingWait) ? largest
                                                                                     : std::nullopt;
}

std::string wait_clause(const ReportContext& context, const ReportedStep& step, BudgetPart part,
                        const std::string& whole, int digits, TimeUnit unit) {
  std::string text =
      fmt::format("the GPU waits {} of {} for {}", time_text(step.budget[part], digits, unit),
                  whole, waits_for_whom(context.job, part));
  if (part == BudgetPart::input) text += why_input(step.data, digits);
  if (part != BudgetPart::host) return text;
  text += where_host(step.budget, digits, unit);
  if (launch_bound(context.job.workload())) text += ", which the profiler may have caused";
  return text;
}

std::string wait_first(const ReportContext& context, const ReportedStep& step, int digits,
                       TimeUnit unit, Help help) {
  const std::optional<BudgetPart> part = leading_wait(context, step);
  if (!part) return "";
  std::string text =
      wait_clause(context, step, *part, time_text(step.budget.step(), digits, unit), digits, unit);
  text.front() = 'T';
  text += ". ";
  if (*part == BudgetPart::host && help == Help::said_here)
    text += fmt::format("{} ", host_remedy(context, step.budget));
  if (*part == BudgetPart::ranks && context.job.options().variation.stragglers.size() == 1)
    text += "First find out what slows it down. ";
  return text;
}

std::string budget_text(const StepBudget& budget, bool measured) {
  const TimeUnit unit = unit_for(budget.step());
  // All parts have the same resolution, so that they visibly add up. Waits have two digits, as in
  // the table of losses.
  constexpr double kDetail = 100;
  const double least = in_unit(budget.step(), unit) / kDetail;
  double largest = least;
  for (const BudgetPart part : all_budget_parts())
    if (part != BudgetPart::busy) largest = std::max(largest, in_unit(budget[part], unit));
  const int decimals = decimals_for(largest);
  const auto shown = [&](Duration length) {
    return fmt::format("{} {}", fixed(in_unit(length, unit), decimals), name_of(unit));
  };
  const auto time = [&](BudgetPart part) { return shown(budget[part]); };
  const auto is_little = [&](BudgetPart part) {
    return budget[part] < budget.step().scaled(kNegligible) ||
           rounds_to_zero(in_unit(budget[part], unit), decimals);
  };
  std::vector<BudgetPart> parts = {BudgetPart::host, BudgetPart::input, BudgetPart::communication,
                                   BudgetPart::ranks};
  std::erase_if(parts, is_little);
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [&](BudgetPart part) { return budget[part]; });
  std::vector<std::string> waits;
  for (const BudgetPart part : parts)
    waits.push_back(fmt::format("{} for {}", time(part), waits_for(part)));
  std::string text =
      fmt::format("the GPU is busy for {} of {}", time(BudgetPart::busy), shown(budget.step()));
  if (!waits.empty()) text += fmt::format(" and waits {}", fmt::join(waits, ", "));
  if (!is_little(BudgetPart::overhead))
    text += fmt::format("; {} is {}", time(BudgetPart::overhead),
                        label_of(LossCause::unexplained, {.measured = measured}));
  return text;
}

std::string budget_line(const Trust& trust, const StepBudget& budget, const TerminalStyle& style) {
  if (budget.step() == Duration()) return "";
  std::string text = budget_text(budget, is_measured(trust, budget.step()));
  text.front() = 'T';
  return wrapped(text + '.', style.width, 2);
}

}  // namespace ddpsim
