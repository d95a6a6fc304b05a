#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compare_lines.hpp"
#include "cost_lines.hpp"
#include "ddpsim/reports/mix_report.hpp"
#include "mix_lines.hpp"
#include "page.hpp"
#include "report_lines.hpp"
#include "speedup_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string name_in_mix(const MixReport& report, std::size_t candidate) {
  return name_of_job(report.labels[candidate].label, report.labels[candidate].ranks);
}

/// The candidate that the fastest is compared with: the next one with the same number of GPUs, else
/// the next of all.
std::optional<std::size_t> opponent(const MixReport& report) {
  const std::vector<std::size_t>& order = report.mix.by_speed;
  if (order.size() == 1) return std::nullopt;
  for (std::size_t k = 1; k < order.size(); ++k)
    if (report.labels[order[k]].ranks == report.labels[order.front()].ranks) return order[k];
  return order[1];
}

std::string mix_verdict(const MixReport& report) {
  const std::size_t first = report.mix.by_speed.front();
  const auto second = opponent(report);
  if (!second)
    return fmt::format("{} is the only candidate that runs all workloads.",
                       name_in_mix(report, first));
  const auto named = [&](std::size_t i) {
    return NamedCandidate{printable(report.labels[i].label), report.labels[i].changed_numerics};
  };
  return speedup_sentence(report.mix.candidates[*second].behind, name_in_mix(report, first),
                          name_in_mix(report, *second)) +
         learning_caveat(named(first), named(*second));
}

std::string mix_reason(const MixReport& report, const TerminalStyle& style) {
  const auto second = opponent(report);
  if (!second) return "";
  const std::string reason =
      speedup_reason(report.mix.candidates[*second].behind,
                     printable(report.labels[report.mix.by_speed.front()].label),
                     printable(report.labels[*second].label), workload_names(report));
  return reason.empty() ? "" : wrapped(reason, style.width, kIndent);
}

std::string mix_tornado(const MixReport& report, const TerminalStyle& style) {
  const auto second = opponent(report);
  if (!second) return "";
  return speedup_tornado(report.mix.candidates[*second].behind,
                         printable(report.labels[report.mix.by_speed.front()].label),
                         printable(report.labels[*second].label), workload_names(report), style);
}

/// "The mix: resnet50 takes 70 % of the time on owned, bert-large 30 %."
std::string shares_line(const MixReport& report) {
  std::vector<std::string> parts;
  const std::string reference = printable(report.labels[report.reference].label);
  for (const MixedWorkload& workload : report.workloads) {
    const std::string share = percent_text(100 * workload.share);
    const std::string name = printable(workload.name);
    parts.push_back(parts.empty()
                        ? fmt::format("{} takes {} of the time on {}", name, share, reference)
                        : fmt::format("{} {}", name, share));
  }
  return fmt::format("The mix: {}.", fmt::join(parts, ", "));
}

std::string mix_table(const MixReport& report, const TerminalStyle& style) {
  constexpr std::size_t kNameWidth = 28;
  constexpr std::size_t kMostRows = 14;  // on the first screen
  const std::optional<CostedCandidates> costs =
      report.costs ? std::optional(costed(report)) : std::nullopt;
  std::vector<Column> columns = {
      {"cluster"}, {"GPUs", Align::right}, {"speed", Align::left}, {"behind by", Align::left}};
  if (costs)
    for (Column& column : cost_columns()) columns.push_back(std::move(column));
  const std::size_t width = columns.size();
  Table table(std::move(columns));
  const std::vector<std::size_t>& order = report.mix.by_speed;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (style.most_lines > 0 && k == kMostRows && k + 1 < order.size()) {
      std::vector<std::string> cells(width);
      cells.front() = fmt::format("… {} more", order.size() - k);
      table.add_row(std::move(cells));
      break;
    }
    const std::size_t i = order[k];
    const MixedCandidate& candidate = report.mix.candidates[i];
    const int digits = digits_of(report.labels[i].grade);
    std::vector<std::string> cells = {
        shortened_middle(printable(report.labels[i].label), kNameWidth),
        std::to_string(report.labels[i].ranks), "x" + significant(1 / candidate.time.value, digits),
        k == 0 ? "" : speedup_text(candidate.behind)};
    if (costs)
      for (std::string& cell : cost_cells(*costs, i)) cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  }
  return table.text(style);
}

std::string mix_legend(const MixReport& report) {
  std::string legend = fmt::format(
      "Speed: for the whole mix, relative to {}. Behind by: how much faster the first trains the "
      "mix.",
      printable(report.labels[report.reference].label));
  return report.costs ? legend + cost_legend(costed(report)) : legend;
}

/// The comparison for one workload alone.
std::string workload_section(const MixedWorkload& workload, const TerminalStyle& style) {
  return after_blank(
      bold(fmt::format("{}: {}", printable(workload.name), compare_verdict(workload.report)),
           style) +
      '\n' + reason_line(workload.report, style) + table_of_jobs(workload.report, style));
}

}  // namespace

std::vector<std::string> workload_names(const MixReport& report) {
  std::vector<std::string> names;
  for (const MixedWorkload& workload : report.workloads) names.push_back(workload.name);
  return names;
}

CostedCandidates costed(const MixReport& report) {
  constexpr double kHour = 3600;
  CostedCandidates all{
      .costs = *report.costs,
      .labels = {},
      .ranks = {},
      .grades = {},
      .changed_numerics = {},
      .amount = {kHour, fmt::format("the work that {} does in an hour",
                                    printable(report.labels[report.reference].label))}};
  for (const MixLabel& label : report.labels) {
    all.labels.push_back(label.label);
    all.ranks.push_back(label.ranks);
    all.grades.push_back(label.grade);
    all.changed_numerics.push_back(label.changed_numerics);
  }
  return all;
}

std::string mix_text(const MixReport& report, const TerminalStyle& style) {
  const ReportContext& shared = report.workloads.front().report.contexts.front();
  Page page;
  page.add(Weight::verdict, bold(mix_verdict(report), style) + '\n');
  add_warnings(page, {report.warnings, 0}, style);
  page.add(Weight::answer, mix_reason(report, style));
  if (report.costs) page.add(Weight::answer, cost_verdict(costed(report), style));
  for (const Until& until : report.until)
    page.add(Weight::answer, wrapped(until_sentence(until), style.width, kIndent));
  page.add(Weight::trust, dim(wrapped(shares_line(report), style.width, kIndent), style));
  page.add(
      Weight::evidence,
      setting_line(setting_text(shared, {.buckets = speaks_of_buckets(shared), .compute = false}),
                   style));
  page.add(Weight::answer, after_blank(mix_table(report, style)));
  page.add(Weight::answer, not_compared_lines(report.not_compared, style));
  if (report.costs) page.add(Weight::answer, price_lines(costed(report), style));
  page.add(Weight::evidence, wrapped(mix_legend(report), style.width, kIndent));
  for (const MixedWorkload& workload : report.workloads)
    page.add(Weight::evidence, workload_section(workload, style));
  const CompareReport& first = report.workloads.front().report;
  page.add(Weight::evidence,
           wrapped(table_legend(first, table_of_jobs(first, style)), style.width, kIndent));
  for (const MixedWorkload& workload : report.workloads)
    for (const ReportContext& context : workload.report.contexts)
      page.add(Weight::trust,
               replay_line(context.trust, style,
                           fmt::format("{} with {}", printable(cluster_name(context)),
                                       printable(workload.name))));
  page.add(Weight::detail, mix_tornado(report, style));
  return page.text(style);
}

}  // namespace ddpsim
