#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compare_lines.hpp"
#include "cost_lines.hpp"
#include "ddpsim/reports/reports.hpp"
#include "elastic_lines.hpp"
#include "loss_lines.hpp"
#include "page.hpp"
#include "recorded_lines.hpp"
#include "report_lines.hpp"
#include "scheme_lines.hpp"
#include "speedup_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

using Contexts = std::vector<CandidateContext>;

/// To which candidates the correction from a measured step was applied.
std::string carried_lines(const Comparison& comparison, const Contexts& contexts,
                          const TerminalStyle& style) {
  std::string lines;
  for (std::size_t from = 0; from < comparison.jobs.size(); ++from) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < comparison.jobs.size(); ++i)
      if (comparison.jobs[i].corrected_by == from)
        names.push_back(printable(cluster_name(contexts[i])));
    if (names.empty()) continue;
    lines += wrapped(fmt::format("The replay error of {} also corrects the compute of {}.",
                                 printable(cluster_name(contexts[from])), fmt::join(names, ", ")),
                     style.width, kIndent);
  }
  return lines;
}

/// Which candidates are calibrated by the recording's own all-reduces. The others rest on logs or
/// data sheets.
std::string calibrated_line(const Contexts& contexts, const TerminalStyle& style) {
  std::vector<std::string> names;
  for (const ReportContext& context : contexts)
    if (context.provenance.calibrated_by_recording)
      names.push_back(printable(cluster_name(context)));
  if (names.empty()) return "";
  return wrapped(fmt::format("Calibrated by the recording itself: {}{}.", fmt::join(names, ", "),
                             names.size() < contexts.size() ? " (no other candidate)" : ""),
                 style.width, kIndent);
}

/// What the recorded job did. It is compared with the candidate that is most like it, so it is
/// printed once.
std::string current_line(const Contexts& contexts, const TerminalStyle& style) {
  const std::size_t beside = beside_recording(contexts);
  const ReportContext& context = contexts[beside];
  std::string lines = recorded_line(context, style, printable(cluster_name(context)));
  for (std::size_t i = beside + 1; i < contexts.size(); ++i)
    if (contexts[i].provenance.recorded && contexts[i].provenance.recorded->comparable)
      lines += predicted_line(contexts[i], style);
  return lines;
}

/// Says which settings are printed once for all candidates. The table shows each candidate's compute
/// scale and, if there are several schemes, its scheme.
SettingParts shared_settings(const CompareReport& report) {
  const bool buckets = report.several_schemes
                           ? std::ranges::any_of(report.contexts, speaks_of_buckets)
                           : speaks_of_buckets(report.contexts.front());
  return {.scheme = !report.several_schemes, .buckets = buckets, .compute = false};
}

}  // namespace

std::string compare_text(const CompareReport& report, const TerminalStyle& style) {
  const Comparison& comparison = report.comparison;
  const Contexts& contexts = report.contexts;
  const ReportContext& shared = contexts.front();
  const std::size_t first = comparison.by_speed.front();
  const ComparedJob& fastest_job = comparison.jobs[first];
  const ReportContext& fastest = contexts[first];
  const Confidence& confidence = fastest_job.confidence;
  Page page;
  const std::string failures =
      report.costs ? failures_clause(costed(report), comparison.by_speed.front()) : "";
  page.add(Weight::verdict, bold(compare_verdict(report) + failures, style) + '\n');
  page.add(Weight::verdict, not_compared_lines(report.not_compared, style));
  add_warnings(page, shared.trust.warnings, style);
  page.add(Weight::answer, reason_line(report, style));
  if (report.costs) page.add(Weight::answer, cost_verdict(costed(report), style));
  for (const Until& until : report.until)
    page.add(Weight::answer, wrapped(until_sentence(until), style.width, kIndent));
  page.add(Weight::trust, dim(printable(workload_name(shared)), style) + '\n');
  page.add(Weight::evidence, setting_line(setting_text(shared, shared_settings(report)), style));
  page.add(Weight::trust, current_line(contexts, style));
  const std::string table = table_of_jobs(report, style);
  page.add(Weight::answer, after_blank(table));
  if (report.costs) page.add(Weight::answer, price_lines(costed(report), style));
  for (const CandidateContext& context : contexts)
    if (context.elastic)
      page.add(Weight::answer, elastic_line(*context.elastic, cluster_name(context), style));
  page.add(Weight::evidence, wrapped(table_legend(report, table), style.width, kIndent));
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    const ComparedJob& job = comparison.jobs[i];
    page.add(Weight::answer, offload_lines(contexts[i], contexts[i].memory, job.times,
                                           digits_of(job.confidence.grade), style,
                                           printable(cluster_name(contexts[i])) + ": "));
  }
  page.add(Weight::detail, tornado(report, style));
  page.add(Weight::trust, calibrated_line(contexts, style));
  for (const ReportContext& context : contexts)
    page.add(Weight::trust, replay_line(context.trust, style, printable(cluster_name(context))));
  page.add(Weight::evidence, carried_lines(comparison, contexts, style));
  page.add(Weight::trust, after_blank(wrapped(
                              fmt::format("For the fastest, {}:", printable(cluster_name(fastest))),
                              style.width, kIndent)) +
                              interval_line(confidence, fastest_job.times.iteration, style));
  page.add(Weight::evidence, next_measurement(confidence, style));
  // The losses of the fastest candidate; JSON has those of the others.
  page.add(Weight::detail,
           after_blank(loss_table(fastest_job.times, confidence, style,
                                  loss_words(fastest, fastest_job.times.iteration))));
  page.add(Weight::more, after_blank(interval_reasons(confidence, style)));
  page.add(Weight::next, hint_line(report.next_command, style));
  return page.text(style);
}

}  // namespace ddpsim
