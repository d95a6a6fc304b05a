#include "compare_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cost_lines.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/ddp/scheme_notes.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "loss_lines.hpp"
#include "report_lines.hpp"
#include "speedup_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

using Contexts = std::vector<CandidateContext>;

/// The candidate that the fastest is compared with: the next one with the same number of GPUs,
/// because more GPUs nearly always train faster. Without one, the next of all.
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
  if (!job.best_cap->set) return job.best_cap->default_as_current ? "default" : "current";
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

/// A column of the table of jobs. `cell` returns its text for the job with this index in the
/// report.
struct JobColumn {
  Column column;
  std::function<std::string(std::size_t)> cell;
};

/// Steps are shown in one unit, with enough digits that steps which differ by one percent look
/// different.
struct StepFormat {
  TimeUnit unit;
  int digits;
};

StepFormat step_format(const Comparison& comparison) {
  constexpr double kApart = 0.01;  // share of a step
  std::vector<Duration> steps;
  int digits = 0;
  for (const ComparedJob& job : comparison.jobs) {
    steps.push_back(job.times.iteration);
    digits = std::max(digits, digits_of(job.confidence.grade));
  }
  const TimeUnit unit = unit_for(std::ranges::max(steps));
  const Duration least = std::ranges::min(steps).scaled(kApart);
  return {unit, digits_apart(std::move(steps), digits, least, unit)};
}

std::string step_interval_text(const ComparedJob& job, StepFormat format) {
  const Duration step = job.times.iteration;
  return time_interval(step.scaled(1 + job.confidence.low_percent / 100),
                       step.scaled(1 + job.confidence.high_percent / 100),
                       digits_of(job.confidence.grade), format.unit);
}

std::string samples_text(const ComparedJob& job, const CandidateContext& context) {
  const auto speed = training_speed(step_work(context.job), job.times);
  return significant(speed.samples_per_second.value_or(0), digits_of(job.confidence.grade));
}

std::string memory_text(const PeakMemory& memory) {
  return (memory.activations ? "" : "> ") + rounded_size_text(memory.total());
}

bool any_scales_compute(const Contexts& contexts) {
  return std::ranges::any_of(contexts, [](const CandidateContext& context) {
    return context.job.options().compute_scale != 1;
  });
}

/// The columns keep a reference to `report`, which must outlive them.
std::vector<JobColumn> columns_of_jobs(const CompareReport& report, StepFormat format) {
  const std::vector<ComparedJob>& jobs = report.comparison.jobs;
  const Contexts& contexts = report.contexts;
  // With several schemes, memory decides as much as time.
  const bool schemes = report.several_schemes;
  // With prices, costs take the place of the columns that explain the step time.
  const bool priced = report.costs.has_value();
  const int why = priced ? 7 : 0;

  std::vector<JobColumn> columns;
  const auto add = [&](Column column, std::function<std::string(std::size_t)> cell) {
    columns.push_back({std::move(column), std::move(cell)});
  };
  add({schemes ? "candidate" : "cluster"}, [&contexts, schemes](std::size_t i) {
    const std::size_t kWidth = schemes ? 40 : 28;
    return shortened_middle(printable(cluster_name(contexts[i])), kWidth);
  });
  add({"GPUs", Align::right},
      [&contexts](std::size_t i) { return std::to_string(contexts[i].job.cluster().ranks()); });
  if (any_scales_compute(contexts))
    add({"compute", Align::right, 3}, [&contexts](std::size_t i) {
      return "x" + significant(contexts[i].job.options().compute_scale, 3);
    });
  add({fmt::format("step {}", name_of(format.unit)), Align::decimal},
      [&jobs, format](std::size_t i) {
        return time_number(jobs[i].times.iteration, format.digits, format.unit);
      });
  add({"80 % interval", Align::left, 5},
      [&jobs, format](std::size_t i) { return step_interval_text(jobs[i], format); });
  if (step_work(contexts.front().job).samples)
    add({"samples/s", Align::right, 4},
        [&jobs, &contexts](std::size_t i) { return samples_text(jobs[i], contexts[i]); });
  add({"efficiency", Align::right, why},
      [&jobs](std::size_t i) { return percent_text(100 * jobs[i].efficiency()); });
  add({"blocking", Align::right, 1 + why}, [&jobs](std::size_t i) {
    const StepTimes& times = jobs[i].times;
    return percent_text(100 * (times.blocking_communication() / times.iteration));
  });
  add({"largest loss", Align::left, 2 + why},
      [&jobs](std::size_t i) { return largest_loss_text(jobs[i].times); });
  if (contexts.front().memory)
    add({"memory", Align::right, schemes ? 0 : 6},
        [&contexts](std::size_t i) { return memory_text(*contexts[i].memory); });
  if (std::ranges::any_of(jobs, [](const ComparedJob& job) { return job.best_cap.has_value(); }))
    add({"best cap", Align::left, 3 + why},
        [&jobs, format](std::size_t i) { return best_cap_text(jobs[i], format.unit); });
  add({"behind by", Align::left}, [&report](std::size_t i) {
    const Comparison& comparison = report.comparison;
    return i == comparison.by_speed.front() ? "" : speedup_text(comparison.jobs[i].behind);
  });
  if (priced) {
    const std::vector<Column> of_costs = cost_columns();
    for (std::size_t c = 0; c < of_costs.size(); ++c)
      add(of_costs[c], [&report, c](std::size_t i) { return cost_cells(costed(report), i)[c]; });
  }
  return columns;
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
  constexpr std::size_t kMostRows = 14;  // on the first screen
  const std::vector<std::size_t>& by_speed = report.comparison.by_speed;
  const std::vector<JobColumn> columns = columns_of_jobs(report, step_format(report.comparison));
  std::vector<Column> heads;
  for (const JobColumn& one : columns) heads.push_back(one.column);
  Table table(std::move(heads));
  for (std::size_t k = 0; k < by_speed.size(); ++k) {
    std::vector<std::string> cells(columns.size());
    const bool rest = style.most_lines > 0 && k == kMostRows && k + 1 < by_speed.size();
    if (rest)
      cells.front() = fmt::format("… {} more", by_speed.size() - k);
    else
      std::ranges::transform(columns, cells.begin(),
                             [&](const JobColumn& one) { return one.cell(by_speed[k]); });
    table.add_row(std::move(cells));
    if (rest) break;
  }
  return table.text(style);
}

std::string table_legend(const CompareReport& report, const std::string& table) {
  std::string legend =
      "Efficiency: step of one GPU without DDP, divided by the step of the job. Behind by: how "
      "much faster the first trains, at ";
  legend += report.global_batch ? fmt::format("a global batch of {}", *report.global_batch)
                                : "the same batch per GPU";
  legend +=
      ". Blocking: share of the step in which the GPU waits for communication or stragglers. The "
      "slowest GPU is a separate loss.";
  // Looks at the head of the printed table only, because a cluster may be named "best cap". The
  // column is absent if nothing was tuned or the table is too narrow.
  if (table.substr(0, table.find('\n')).find("best cap") != std::string::npos)
    legend +=
        " Best cap: bucket_cap_mb worth setting and what it saves, for candidates that may be the "
        "fastest.";
  const bool depends = std::ranges::any_of(report.comparison.jobs, [](const ComparedJob& job) {
    return job.best_cap && job.best_cap->depends_on_version;
  });
  if (depends) legend += " Needs --torch: the best cap depends on the PyTorch version.";
  return report.costs ? legend + cost_legend(costed(report)) : legend;
}

std::string not_compared_lines(const std::vector<NotCompared>& jobs, const TerminalStyle& style) {
  std::string lines;
  for (const NotCompared& job : jobs)
    lines += wrapped(not_compared_line(job), style.width, kIndent);
  return lines;
}

}  // namespace ddpsim
