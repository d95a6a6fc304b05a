#include "compare_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cost_lines.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/ddp/changed_numerics.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "loss_lines.hpp"
#include "report_lines.hpp"
#include "speedup_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

using Contexts = std::vector<CandidateContext>;

/// What the fastest is held against: the next one with as many GPUs, for more GPUs train faster
/// almost anywhere; where there is none, the next one.
std::size_t opponent(const CompareReport& report) {
  const Contexts& contexts = report.contexts;
  const std::vector<std::size_t>& order = report.comparison.by_speed;
  for (std::size_t k = 1; k < order.size(); ++k)
    if (contexts[order[k]].job.cluster().ranks() == contexts[order.front()].job.cluster().ranks())
      return order[k];
  return order[1];
}

NamedCandidate named_candidate(const ReportContext& context) {
  return {printable(cluster_name(context)), changed_numerics(context.job)};
}

std::string best_cap_text(const ComparedJob& job, TimeUnit unit) {
  if (!job.best_cap) return "";
  if (job.best_cap->depends_on_version) return "needs --torch";
  if (!job.best_cap->set) return job.best_cap->default_as_current ? "default" : "today's";
  std::string cap = "default";
  if (job.best_cap->bucket_cap_mb)
    cap = cap_text(*job.best_cap->bucket_cap_mb);
  else if (job.best_cap->first_bucket_mb)
    cap = fmt::format("first bucket {}", cap_text(*job.best_cap->first_bucket_mb));
  return fmt::format("{} (-{})", cap,
                     time_text(job.best_cap->gain.value, digits_of(job.confidence.grade), unit));
}

/// "buffer broadcast 20 %"
std::string largest_loss_text(const StepTimes& times) {
  const auto cause = largest_loss(times.loss);
  if (!cause) return "";
  return fmt::format("{} {}", label_of(*cause),
                     percent_text(100 * (times.loss[*cause] / times.iteration)));
}

std::string not_compared_line(const NotCompared& job) {
  const std::string size =
      job.ranks ? fmt::format(" ({})", counted(static_cast<std::uint64_t>(*job.ranks), "GPU")) : "";
  return fmt::format("{}{}: {}.", printable(job.label), size, printable(job.error));
}

}  // namespace

std::string compare_verdict(const CompareReport& report) {
  const Comparison& comparison = report.comparison;
  const Contexts& contexts = report.contexts;
  const std::size_t first = comparison.by_speed.front();
  if (comparison.by_speed.size() == 1) {
    const ComparedJob& job = comparison.jobs[first];
    const std::string who = report.several_schemes
                                ? name_of_job(contexts[first]) + " is the only candidate that runs"
                                : subject(contexts[first]);
    const int digits = digits_of(job.confidence.grade);
    return fmt::format("{}: {} a step{}.", who, time_text(job.times.iteration, digits),
                       speed_clause(job.times, contexts[first].job, digits));
  }
  const std::size_t second = opponent(report);
  const Speedup& speedup = comparison.jobs[second].behind;
  return speedup_sentence(speedup, name_of_job(contexts[first]), name_of_job(contexts[second])) +
         learning_caveat(named_candidate(contexts[first]), named_candidate(contexts[second]));
}

std::string reason_line(const CompareReport& report, const TerminalStyle& style) {
  if (report.comparison.by_speed.size() == 1) return "";
  const std::size_t first = report.comparison.by_speed.front();
  const std::size_t second = opponent(report);
  const std::string reason = speedup_reason(report.comparison.jobs[second].behind,
                                            printable(cluster_name(report.contexts[first])),
                                            printable(cluster_name(report.contexts[second])));
  return reason.empty() ? "" : wrapped(reason, style.width, kIndent);
}

std::string tornado(const CompareReport& report, const TerminalStyle& style) {
  if (report.comparison.by_speed.size() == 1) return "";
  const std::size_t second = opponent(report);
  return speedup_tornado(
      report.comparison.jobs[second].behind,
      printable(cluster_name(report.contexts[report.comparison.by_speed.front()])),
      printable(cluster_name(report.contexts[second])), {}, style);
}

std::string table_of_jobs(const CompareReport& report, const TerminalStyle& style) {
  const Comparison& comparison = report.comparison;
  const Contexts& contexts = report.contexts;
  constexpr std::size_t kMostRows = 14;  // where the page is limited
  Duration longest;
  for (const ComparedJob& job : comparison.jobs) longest = std::max(longest, job.times.iteration);
  const TimeUnit unit = unit_for(longest);
  const bool scaled = std::any_of(contexts.begin(), contexts.end(), [](const ReportContext& c) {
    return c.job.options().compute_scale != 1;
  });
  const bool tuned = std::ranges::any_of(
      comparison.jobs, [](const ComparedJob& job) { return job.best_cap.has_value(); });
  const bool counts_memory = contexts.front().memory.has_value();
  const bool counted_samples = step_work(contexts.front().job).samples.has_value();

  // Of several schemes memory decides as much as time.
  const bool schemes = report.several_schemes;
  const std::size_t kNameWidth = schemes ? 40 : 28;
  std::vector<Column> columns = {{schemes ? "candidate" : "cluster"}, {"GPUs", Align::right}};
  if (scaled) columns.push_back({"compute", Align::right, 3});
  columns.push_back({fmt::format("step {}", name_of(unit)), Align::decimal});
  columns.push_back({"80 % interval", Align::left, 5});
  if (counted_samples) columns.push_back({"samples/s", Align::right, 4});
  // Where money is asked for, what it costs stands in place of why it takes so long.
  const bool priced = report.costs.has_value();
  const int why = priced ? 7 : 0;
  columns.push_back({"efficiency", Align::right, why});
  columns.push_back({"blocking", Align::right, 1 + why});
  columns.push_back({"largest loss", Align::left, 2 + why});
  if (counts_memory) columns.push_back({"memory", Align::right, schemes ? 0 : 6});
  if (tuned) columns.push_back({"best cap", Align::left, 3 + why});
  columns.push_back({"behind by", Align::left});
  if (priced)
    for (Column& column : cost_columns()) columns.push_back(std::move(column));
  const std::size_t columns_shown = columns.size();
  Table table(std::move(columns));

  constexpr double kApart = 0.01;  // of a step: what two are told apart by
  std::vector<Duration> steps;
  int digits_of_steps = 0;
  for (const ComparedJob& job : comparison.jobs) {
    steps.push_back(job.times.iteration);
    digits_of_steps = std::max(digits_of_steps, digits_of(job.confidence.grade));
  }
  const Duration least = std::min_element(steps.begin(), steps.end())->scaled(kApart);
  digits_of_steps = digits_apart(std::move(steps), digits_of_steps, least, unit);

  for (std::size_t k = 0; k < comparison.by_speed.size(); ++k) {
    if (style.most_lines > 0 && k == kMostRows && k + 1 < comparison.by_speed.size()) {
      std::vector<std::string> cells(columns_shown);
      cells.front() = fmt::format("… {} more", comparison.by_speed.size() - k);
      table.add_row(std::move(cells));
      break;
    }
    const std::size_t i = comparison.by_speed[k];
    const ComparedJob& job = comparison.jobs[i];
    const CandidateContext& context = contexts[i];
    const Duration step = job.times.iteration;
    const int digits = digits_of(job.confidence.grade);
    std::vector<std::string> cells = {
        shortened_middle(printable(cluster_name(context)), kNameWidth),
        std::to_string(context.job.cluster().ranks())};
    if (scaled) cells.push_back("x" + significant(context.job.options().compute_scale, 3));
    cells.push_back(time_number(step, digits_of_steps, unit));
    cells.push_back(time_interval(step.scaled(1 + job.confidence.low_percent / 100),
                                  step.scaled(1 + job.confidence.high_percent / 100), digits,
                                  unit));
    if (counted_samples)
      cells.push_back(significant(
          training_speed(step_work(context.job), job.times).samples_per_second.value_or(0),
          digits));
    cells.push_back(percent_text(100 * job.efficiency()));
    cells.push_back(percent_text(100 * (job.times.blocking_communication() / step)));
    cells.push_back(largest_loss_text(job.times));
    if (counts_memory)
      cells.push_back((context.memory->activations ? "" : "> ") +
                      rounded_size_text(context.memory->total()));
    if (tuned) cells.push_back(best_cap_text(job, unit));
    cells.push_back(i == comparison.by_speed.front() ? "" : speedup_text(job.behind));
    if (priced)
      for (std::string& cell : cost_cells(costed(report), i)) cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
  return table.text(style);
}

std::string table_legend(const CompareReport& report, const std::string& table) {
  std::string legend =
      "Efficiency: step of one GPU by itself, without DDP, over the step of the job. Behind by: "
      "how much faster the first trains, at ";
  legend += report.global_batch ? fmt::format("a global batch of {}", *report.global_batch)
                                : "the same batch per GPU";
  legend +=
      ". Blocking: share of the step in which the GPU stands still for communication, waits for "
      "stragglers included; the slowest GPU is a loss of its own.";
  // Its head is ours alone; names of clusters stand below. No column where nothing was tuned, or too wide with it.
  if (table.substr(0, table.find('\n')).find("best cap") != std::string::npos)
    legend +=
        " Best cap: bucket_cap_mb worth setting, and what it saves, of those that may be the "
        "fastest.";
  const bool depends = std::ranges::any_of(report.comparison.jobs, [](const ComparedJob& job) {
    return job.best_cap && job.best_cap->depends_on_version;
  });
  if (depends)
    legend += " Needs --torch: another cap is worth it under each version PyTorch may be.";
  return report.costs ? legend + cost_legend(costed(report)) : legend;
}

std::string not_compared_lines(const std::vector<NotCompared>& jobs, const TerminalStyle& style) {
  std::string lines;
  for (const NotCompared& job : jobs)
    lines += wrapped(not_compared_line(job), style.width, kIndent);
  return lines;
}

}  // namespace ddpsim
