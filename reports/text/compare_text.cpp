#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "compare_lines.hpp"
#include "cost_lines.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "elastic_lines.hpp"
#include "loss_lines.hpp"
#include "page.hpp"
#include "report_lines.hpp"
#include "scheme_lines.hpp"
#include "speedup_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

using Contexts = std::vector<ReportContext>;

/// To whom a measured step's correction was carried over.
std::string carried_lines(const Comparison& comparison, const Contexts& contexts,
                          const TerminalStyle& style) {
  std::string lines;
  for (std::size_t from = 0; from < comparison.jobs.size(); ++from) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < comparison.jobs.size(); ++i)
      if (comparison.jobs[i].corrected_by == from) names.push_back(printable(contexts[i].cluster));
    if (names.empty()) continue;
    lines += wrapped(fmt::format("What {} misses is carried over, as compute, to {}.",
                                 printable(contexts[from].cluster), fmt::join(names, ", ")),
                     style.width, kIndent);
  }
  return lines;
}

/// Which candidates the recording's own all-reduces calibrate: the others rest on logs, or on a specification.
std::string calibrated_line(const Contexts& contexts, const TerminalStyle& style) {
  std::vector<std::string> names;
  for (const ReportContext& context : contexts)
    if (context.calibrated_by_recording) names.push_back(printable(context.cluster));
  if (names.empty()) return "";
  return wrapped(fmt::format("Calibrated by the recording itself: {}{}.", fmt::join(names, ", "),
                             names.size() < contexts.size() ? ", no other" : ""),
                 style.width, kIndent);
}

/// What the recorded job did, once, beside the candidate that is most like it.
std::string current_line(const Comparison& comparison, const Contexts& contexts,
                         const TerminalStyle& style) {
  const std::size_t beside = beside_recording(contexts);
  ReportContext context = contexts[beside];
  context.confidence = comparison.jobs[beside].confidence;
  std::string lines = recorded_line(context, style, printable(context.cluster));
  for (std::size_t i = beside + 1; i < contexts.size(); ++i)
    if (contexts[i].recorded && contexts[i].recorded->comparable)
      lines += predicted_line(contexts[i], style);
  return lines;
}

}  // namespace

std::string compare_text(const CompareReport& report, const TerminalStyle& style) {
  const Comparison& comparison = report.comparison;
  const Contexts& contexts = report.contexts;
  ReportContext shared = contexts.front();
  shared.compute_scale = 1;  // each job has its own, in the table
  shared.rank_slowdown = 1;  // … and in JSON
  if (report.several_schemes) {
    shared.scheme.reset();
    if (std::ranges::none_of(contexts, speaks_of_buckets)) shared.bucket_setting.clear();
  }
  const std::size_t first = comparison.by_speed.front();
  const ComparedJob& fastest_job = comparison.jobs[first];
  ReportContext fastest = contexts[first];
  fastest.confidence = fastest_job.confidence;
  Page page;
  const std::string failures =
      report.costs ? failures_clause(costed(report), comparison.by_speed.front()) : "";
  page.add(Weight::verdict, bold(compare_verdict(report) + failures, style) + '\n');
  page.add(Weight::verdict, not_compared_lines(report.not_compared, style));
  add_warnings(page, shared, style);
  page.add(Weight::answer, reason_line(report, style));
  if (report.costs) page.add(Weight::answer, cost_verdict(costed(report), style));
  for (const Until& until : report.until)
    page.add(Weight::answer, wrapped(until_sentence(until), style.width, kIndent));
  page.add(Weight::trust, dim(printable(shared.workload), style) + '\n');
  page.add(Weight::evidence, setting_line(shared, style));
  page.add(Weight::trust, current_line(comparison, contexts, style));
  const std::string table = table_of_jobs(report, style);
  page.add(Weight::answer, after_blank(table));
  if (report.costs) page.add(Weight::answer, price_lines(costed(report), style));
  for (const ReportContext& context : contexts)
    if (context.elastic)
      page.add(Weight::answer, elastic_line(*context.elastic, context.cluster, style));
  page.add(Weight::evidence, wrapped(table_legend(report, table), style.width, kIndent));
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    const ComparedJob& job = comparison.jobs[i];
    page.add(Weight::answer, offload_lines(contexts[i], job.times, digits_of(job.confidence.grade),
                                           style, "Of " + printable(contexts[i].cluster) + ": "));
  }
  page.add(Weight::detail, tornado(report, style));
  page.add(Weight::trust, calibrated_line(contexts, style));
  for (const ReportContext& context : contexts)
    page.add(Weight::trust, replay_line(context, style, printable(context.cluster)));
  page.add(Weight::evidence, carried_lines(comparison, contexts, style));
  page.add(Weight::trust,
           after_blank(wrapped(fmt::format("Of the fastest, {}:", printable(fastest.cluster)),
                               style.width, kIndent)) +
               interval_line(fastest, fastest_job.times.iteration, style));
  page.add(Weight::evidence, next_measurement(fastest, style));
  // Where the fastest loses what, the others' in JSON.
  page.add(Weight::detail,
           after_blank(loss_table(fastest_job.times, fastest_job.confidence, style,
                                  loss_words(fastest, fastest_job.times.iteration))));
  page.add(Weight::more, after_blank(interval_reasons(fastest, style)));
  page.add(Weight::next, hint_line(shared, style));
  return page.text(style);
}

}  // namespace ddpsim
