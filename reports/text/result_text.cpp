#include <fmt/format.h>

#include <algorithm>

#include "breakdown_table.hpp"
#include "bucket_lines.hpp"
#include "budget_lines.hpp"
#include "data_lines.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/values/launch_cost.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "elastic_lines.hpp"
#include "epoch_lines.hpp"
#include "loss_lines.hpp"
#include "overlap_drawing.hpp"
#include "page.hpp"
#include "rank_lines.hpp"
#include "recorded_lines.hpp"
#include "report_lines.hpp"
#include "scheme_lines.hpp"
#include "text_layout.hpp"
#include "timeline_difference_report.hpp"

namespace ddpsim {
namespace {

std::string blocking_either_way(const MeasuredCorrection& correction) {
  const auto share = [](const Explanation& explanation) {
    const StepTimes& times = explanation.times;
    return percent_text(percent_of(times.blocking_communication(), times.iteration));
  };
  return fmt::format(
      "blocked by communication for {} of it if the replay's error is in compute, {} if it is in "
      "collectives.",
      share(correction.all_compute), share(correction.all_communication));
}

/// "", " on average over iterations 3 to 200".
std::string over_iterations(const SimulationResult& result) {
  if (!result.statistics)
    return result.iterations.empty() ? "" : fmt::format(" in iteration {}", result.step.iteration);
  const IterationStatistics& steady = *result.statistics;
  const auto last = steady.first + steady.count - 1;
  return steady.count == 1
             ? fmt::format(" in iteration {}", last)
             : fmt::format(" on average over iterations {} to {}", steady.first, last);
}

/// "; largest loss: exposed all-reduces, 3.4 ms". Says "largest simulated loss" if the multi-GPU
/// overhead is larger.
std::string largest_loss_clause(const SimulateReport& report) {
  const StepTimes& times = report.result.times();
  const auto cause = largest_loss(times.loss);
  const Duration largest = cause ? times.loss[*cause] : Duration();
  const char* const what =
      times.loss[LossCause::unexplained] > largest ? "; largest simulated loss" : "; largest loss";
  // Unequal ranks cost more than the waits: an all-reduce that waits also slows compute.
  const Duration apart =
      report.iteration_if_alike ? times.iteration - *report.iteration_if_alike : Duration();
  if (apart > largest)
    return fmt::format("{}: ranks that differ, {}", what,
                       time_text(apart, 2, unit_for(times.iteration)));
  return cause ? fmt::format("{}: {}, {}", what,
                             label_of(*cause, loss_words(report.context, times.iteration)),
                             loss_text(times, *cause))
               : "";
}

std::string verdict(const SimulateReport& report) {
  const ReportContext& context = report.context;
  const StepTimes& times = report.result.times();
  const bool measured = is_measured(context.trust, times.iteration);
  const int digits = digits_of(context.trust.confidence.grade);
  const TimeUnit unit = unit_for(times.iteration);
  constexpr int kExact = 3;  // digits that tables show
  std::string step = fmt::format("{}: {}{} a step{}", subject(context),
                                 measured || digits >= kExact ? "" : "about ",
                                 time_text(times.iteration, measured ? kExact : digits),
                                 measured ? ", as measured" : over_iterations(report.result));
  if (context.trust.replay && context.trust.replay->contradicted())
    return fmt::format(
        "{}, but the current step was measured at {}: another job was recorded, or the unit is "
        "wrong.",
        step, time_text(context.trust.replay->measured, 3));
  step += speed_clause(times, context.job, digits);
  const std::optional<BudgetPart> part = leading_wait(context, report.step);
  // Waits for communication and for slower GPUs are named by the largest loss instead.
  if (part == BudgetPart::input || part == BudgetPart::host) {
    step += fmt::format("; {}.", wait_clause(context, report.step, *part, "it", digits, unit));
    if (part == BudgetPart::host)
      step += fmt::format(" {}", host_remedy(context, report.step.budget));
    return step;
  }
  if (corrections_differ(context.trust))
    return step + ", " + blocking_either_way(*context.trust.correction);
  std::string text = step + ", " + blocking_text(times);
  // Blocking communication includes the time until the last rank arrives.
  const Duration late = times.loss[LossCause::straggler] + times.loss[LossCause::jitter];
  if (times.blocking_communication() > Duration() &&
      late > times.blocking_communication().scaled(0.5))
    text += fmt::format(", most of that waiting for {}",
                        waits_for_whom(context.job, BudgetPart::ranks));
  return text + largest_loss_clause(report) + '.';
}

std::string communication_line(const StepTimes& times, int digits, const TerminalStyle& style) {
  if (!times.overlap) return "";
  std::string text =
      fmt::format("Communication runs for {}", time_text(times.communication, digits));
  if (times.wait > Duration()) {
    text += fmt::format(", after {} of waiting for the last rank", time_text(times.wait, digits));
  }
  return wrapped(text + '.', style.width, 2);
}

/// The host sets the pace if its slack is less than its own time divided by this.
constexpr double kPace = 10;

/// Says whether the host or the GPU sets the pace, and by how much.
std::string host_line(const StepTimes& times, const Job& job, int digits,
                      const TerminalStyle& style) {
  if (!times.host || *times.host == Duration()) return "";
  const Duration slack = times.iteration - *times.host;
  const std::optional<Launches>& launches = job.workload().launches;
  const bool recorded =
      launches && launch_cost(*launches, job.options()).from == LaunchCostFrom::recording;
  std::string text =
      fmt::format("The host takes {} to launch a step{}", time_text(*times.host, digits),
                  recorded ? " (launch times as recorded under the profiler)" : "");
  const std::string waits = fmt::format("the GPU waits {} for it (--launch-cost, --cuda-graph).",
                                        time_text(times.launch_bound, digits));
  if (times.launch_bound == Duration())
    text += ", so the GPU never waits for it.";
  else if (slack.scaled(kPace) < *times.host)
    text += " and sets the pace: " + waits;
  else
    text += ", less than the step takes, but some launches come late: " + waits;
  return wrapped(text, style.width, 2);
}

/// Says that steps overlap; empty if each step begins after the previous one has ended.
std::string pipeline_line(const StepTimes& times, int digits, const TerminalStyle& style) {
  if (times.forward_ahead <= Duration()) return "";
  return wrapped(fmt::format("Steps overlap: each forward begins {} before the previous step has "
                             "ended. That part is counted and drawn with the previous step. Times "
                             "of buckets still count from the start of forward.",
                             time_text(times.forward_ahead, digits)),
                 style.width, 2);
}

/// How often parameters are averaged, and what one averaging takes. A step is charged its share of
/// that.
std::string averaging_line(const StepResult& step, int digits, const TerminalStyle& style) {
  if (!step.averaging) return "";
  const ModelAveraging& averaging = *step.averaging;
  if (!averaging.what.empty()) {
    std::string lines;
    const auto add = [&](const ModelAveraging& one) {
      lines += wrapped(fmt::format("Every {} steps {}: {} of parameters, in {}, none of it hidden. "
                                   "{} % of the steps do this; the step shown is the mean.",
                                   one.period, one.what, rounded_size_text(one.bytes),
                                   time_text(one.whole, digits), significant(100 * one.share, 3)),
                       style.width, 2);
    };
    add(averaging);
    for (const ModelAveraging& other : averaging.further) add(other);
    return lines;
  }
  return wrapped(fmt::format("Every {} steps all nodes average {} of parameters, in {}, none of it "
                             "hidden. The step shown is the mean.",
                             averaging.period, rounded_size_text(averaging.bytes),
                             time_text(averaging.whole, digits)),
                 style.width, 2);
}

}  // namespace

std::string result_text(const SimulateReport& report, const TerminalStyle& style) {
  const ReportContext& context = report.context;
  const Trust& trust = context.trust;
  const SimulationResult& result = report.result;
  const StepTimes& times = result.times();
  const int digits = digits_of(trust.confidence.grade);
  const Backend backend = backend_of(context.job.model());
  Page page;
  page.add(Weight::verdict, bold(verdict(report), style) + '\n');
  if (report.elastic) page.add(Weight::verdict, elastic_verdict(*report.elastic, style));
  page.add(Weight::trust, replay_line(trust, style));
  page.add(Weight::trust, recorded_line(context, style));
  page.add(Weight::trust, budget_line(trust, report.step.budget, style));
  page.add(Weight::evidence, rank_lines(report, digits, style));
  page.add(Weight::answer, interval_line(trust.confidence, times.iteration, style));
  add_warnings(page, trust.warnings, style);
  page.add(Weight::evidence, next_measurement(trust.confidence, style));
  page.add(Weight::evidence, setting_line(setting_text(context), style));
  page.add(Weight::detail, memory_line(report.memory, style));
  page.add(Weight::detail, activations_line(report.memory, style));
  if (report.elastic) {
    page.add(Weight::answer, after_blank(elastic_table(*report.elastic, style)));
    page.add(Weight::answer, elastic_lines(*report.elastic, style));
  }
  // With an elastic run the user asked for goodput, so the losses of a step give way to it.
  page.add(report.elastic ? Weight::evidence : Weight::answer,
           after_blank(
               loss_table(times, trust.confidence, style, loss_words(context, times.iteration))));
  if (!speaks_of_buckets(context)) {
    page.add(Weight::answer, scheme_lines(result.step, digits, style));
    page.add(Weight::answer, offload_lines(context, report.memory, times, digits, style));
  }
  if (result.step.data) page.add(Weight::answer, data_lines(*result.step.data, digits, style));
  if (result.step.epoch) page.add(Weight::answer, epoch_lines(*result.step.epoch, digits, style));
  if (result.step.joined)
    page.add(Weight::answer, joined_lines(*result.step.joined, digits, style));
  page.add(Weight::more, after_blank(breakdown_table(times, context, style)));
  page.add(Weight::more, communication_line(times, digits, style));
  page.add(Weight::more, averaging_line(result.step, digits, style));
  page.add(Weight::detail, host_line(times, context.job, digits, style));
  page.add(Weight::detail, pipeline_line(times, digits, style));
  page.add(Weight::more, after_blank(interval_reasons(trust.confidence, style)));
  page.add(Weight::drawing, after_blank(overlap_drawing(result, style, digits)));
  if (!result.step.buckets.empty()) {
    page.add(Weight::detail, after_blank(bucket_table(result.step, backend, digits, style)) +
                                 exposed_lines(result.step.buckets, style));
  }
  if (!speaks_of_buckets(context))
    page.add(Weight::detail, after_blank(collective_table(result.step, backend, digits, style)));
  if (context.job.workload().parameter_order == ParameterOrder::assumed &&
      speaks_of_buckets(context))
    page.add(Weight::evidence,
             wrapped("Parameter order is assumed: bucket contents may differ from the real run.",
                     style.width, 2));
  if (report.measured)
    page.add(Weight::verdict, after_blank(difference_text(*report.measured, style)));
  page.add(Weight::next, hint_line(report.next_command, style));
  return page.text(style);
}

}  // namespace ddpsim
