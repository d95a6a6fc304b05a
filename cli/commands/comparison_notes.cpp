#include "comparison_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "ddpsim/diagnose/diff/step_parts.hpp"

namespace ddpsim {
namespace {

/// Says that a size other than the largest is compared, if so.
std::optional<std::string> why_not_largest(const AllReduceChanges& changes) {
  if (changes.compared + 1 == changes.sizes.size()) return std::nullopt;
  const SizeChange& largest = changes.sizes.back();
  return fmt::format(
      "of {} sizes that both logs time, {} bytes changed most and is compared; the "
      "largest, {} bytes, takes {:+.1f} %",
      changes.sizes.size(), changes.one().size.count(), largest.size.count(),
      100 * (largest.growth - 1));
}

/// Says which of several tables of a side is compared.
std::optional<std::string> tables_left_out(std::string_view side,
                                           const std::vector<LoggedAllReduces>& tables,
                                           std::size_t compared) {
  if (tables.size() < 2) return std::nullopt;
  const auto name = [](const LoggedAllReduces& table) {
    std::string text = table.ranks > 0 ? fmt::format("{} ranks", table.ranks)
                                       : std::string("an unknown number of ranks");
    if (table.nodes > 0)
      text += fmt::format(" on {} node{}", table.nodes, table.nodes == 1 ? "" : "s");
    return table.settings.empty() ? text : text + " under " + table.settings;
  };
  std::vector<std::string> others;
  for (std::size_t k = 0; k < tables.size(); ++k)
    if (k != compared) others.push_back(name(tables[k]));
  return fmt::format("{} contains {} tables of all-reduces; that of {} is compared, not that of {}",
                     side, tables.size(), name(tables[compared]),
                     fmt::join(others, ", nor that of "));
}

/// Notes logs with different numbers of ranks, and tables that are left out.
std::vector<std::string> notes_on_logs(const DiffSide& before, const DiffSide& after,
                                       const AllReduceChanges& logs) {
  std::vector<std::string> said;
  if (logs.by_busbw())
    said.push_back(
        fmt::format("OLD's log has {} ranks and NEW's {}, so the work differs; bus bandwidths are "
                    "compared, not times",
                    logs.ranks_before, logs.ranks_after));
  for (auto left_out : {tables_left_out("OLD", before.logs, logs.before),
                        tables_left_out("NEW", after.logs, logs.after)})
    if (left_out) said.push_back(*std::move(left_out));
  return said;
}

/// Returns the bytes of all gradients, if every shape is known.
std::optional<std::int64_t> total_gradient_bytes(const Workload& workload) {
  std::int64_t sum = 0;
  for (const Parameter& parameter : workload.parameters) {
    const std::optional<Bytes> one = gradient_bytes(parameter);
    if (!one) return std::nullopt;
    sum += one->count();
  }
  return sum;
}

/// Returns "161 parameters of 102228128 bytes".
std::string parameters_text(const Workload& workload) {
  const auto bytes = total_gradient_bytes(workload);
  return fmt::format("{} parameters{}", workload.parameters.size(),
                     bytes ? fmt::format(" of {} bytes", *bytes) : "");
}

std::optional<std::string> another_model(const Workload& before, const Workload& after) {
  if (before.parameters.empty() || after.parameters.empty()) return std::nullopt;
  const auto old_bytes = total_gradient_bytes(before);
  const auto new_bytes = total_gradient_bytes(after);
  const bool other_bytes = old_bytes && new_bytes && *old_bytes != *new_bytes;
  if (before.parameters.size() == after.parameters.size() && !other_bytes) return std::nullopt;
  return fmt::format("OLD has {}, NEW has {}: the models differ, so rows compare different work",
                     parameters_text(before), parameters_text(after));
}

/// Warns if a step is shorter than its kernels together.
std::optional<std::string> shorter_than_kernels(const StepBreakdown& breakdown,
                                                const std::string& source) {
  const PartTime& kernels = breakdown[StepPart::kernels];
  if (!kernels.known || kernels.time <= breakdown.step) return std::nullopt;
  return fmt::format(
      "{}: its step of {:.4g} ms is shorter than its recorded kernels, {:.4g} ms; the time is of "
      "another job or in another unit",
      source, breakdown.step.milliseconds(), kernels.time.milliseconds());
}

/// Returns the kinds of evidence of a side that the other side also has (`shared`) or lacks.
std::vector<std::string> kinds_of(const Evidence& side, const Evidence& other, bool shared) {
  const std::vector<std::string_view> others = other.kinds();
  std::vector<std::string> kinds;
  for (const std::string_view kind : side.kinds())
    if ((std::ranges::count(others, kind) > 0) == shared) kinds.emplace_back(kind);
  return kinds;
}

}  // namespace

std::vector<std::string> parts_not_told(const DiffSide& before, const DiffSide& after) {
  const auto tells = [](const DiffSide& side) {
    return side.recorded_step && side.recorded_step->parts_known;
  };
  std::string who;
  if (!tells(before)) who = "OLD";
  if (!tells(after)) who += who.empty() ? "NEW" : " and NEW";
  if (who.empty()) return {};
  return {
      fmt::format("{} tell{} how long a step took, but not where its time goes; a trace of one "
                  "step splits the change into rows",
                  who, who.size() > 3 ? "" : "s")};
}

std::vector<std::string> evidence_of_both(const Evidence& before, const Evidence& after) {
  return kinds_of(before, after, true);
}

std::vector<std::string> evidence_of_one_side(const Evidence& before, const Evidence& after) {
  std::vector<std::string> notes;
  const auto note = [&](std::string_view side, std::string_view other,
                        const std::vector<std::string>& kinds) {
    if (!kinds.empty())
      notes.push_back(fmt::format(
          "only {} has {}, so a change in it cannot be seen; give the same kind of file for {}",
          side, fmt::join(kinds, ", "), other));
  };
  note("OLD", "NEW", kinds_of(before, after, false));
  note("NEW", "OLD", kinds_of(after, before, false));
  return notes;
}

std::vector<std::string> comparison_warnings(const DiffSide& before, const DiffSide& after,
                                             const std::optional<AllReduceChanges>& logs,
                                             const DifferenceReport& report) {
  std::vector<std::string> warnings;
  if (logs) warnings = notes_on_logs(before, after, *logs);
  const auto add = [&](std::optional<std::string> warning) {
    if (warning) warnings.push_back(*std::move(warning));
  };
  if (before.workload && after.workload) add(another_model(*before.workload, *after.workload));
  if (report.all_reduces) add(why_not_largest(*report.all_reduces));
  add(shorter_than_kernels(report.difference.before, before.shown.source));
  add(shorter_than_kernels(report.difference.after, after.shown.source));
  return warnings;
}

}  // namespace ddpsim
