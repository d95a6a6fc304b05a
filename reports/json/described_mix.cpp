#include "described_mix.hpp"

#include "described_candidates.hpp"
#include "described_job.hpp"

namespace ddpsim {
namespace {

using MixedRow = CandidateRow<MixReport>;

std::optional<PricedCandidate> priced_in_mix(const MixedRow& row) {
  if (!row.report.costs) return std::nullopt;
  const std::optional<CandidateCost>& cost = row.report.costs->candidates[row.index];
  if (!cost) return PricedCandidate{nullptr, {}};
  constexpr double kHour = 3600;
  return PricedCandidate{&*cost, {.usd_per_hour_of_reference = cost->usd_per_work.times(kHour)}};
}

/// Precondition of this and the next function: all workloads run on the candidate.
const MixLabel& label_of(const MixedRow& row) {
  return row.report.labels[row.index];
}

const MixedCandidate& mixed(const MixedRow& row) {
  return row.report.mix.candidates[row.index];
}

const Described<MixedRow>& described_mixed() {
  static const auto described =
      Described<MixedRow>("MixedCandidate", "a candidate on which all workloads run")
          .word(
              "grade", [](const MixedRow& of) { return label_of(of).grade; }, all_up_to(Grade::c),
              "the least certain grade of the candidate's workloads, from A (most certain) to C. "
              "Absent in a row that has an error")
          .text("changed_numerics",
                unless_empty([](const MixedRow& of) { return label_of(of).changed_numerics; }),
                "why equal speed is not equal training with this candidate: stale parameters, "
                "ranks that train apart or compressed gradients; null if it trains like DDP. "
                "Absent in a row that has an error")
          .object(
              "time", [](const MixedRow& of) { return shown_interval(mixed(of).time); },
              described_interval(),
              "time for the work that the reference does in one unit of time, so 1 for the "
              "reference. Absent in a row that has an error")
          .members_of(
              [](const MixedRow& of) -> const auto& { return mixed(of).behind; },
              described_behind())
          .members_of(&priced_in_mix, described_priced());
  return described;
}

const Described<NotCompared>& described_not_mixed() {
  static const auto described =
      Described<NotCompared>("NotCompared", "why a candidate could not be mixed")
          .text("error", &NotCompared::error,
                "which workloads do not run on the candidate, and why. Only in a row that has an "
                "error")
          .object(
              "memory", &NotCompared::memory, described_memory(),
              "peak memory of a rank, which may be the reason for the error; null if it was not "
              "counted. Only in a row that has an error");
  return described;
}

const Described<MixedRow>& described_mixed_row() {
  static const auto described =
      Described<MixedRow>("MixRow", "a candidate on all workloads, or why some do not run on it")
          .text(
              "label", [](const MixedRow& of) -> const auto& {
                return of.not_compared ? of.not_compared->label : label_of(of).label;
              },
              "what the candidate is called")
          .text(
              "cluster", [](const MixedRow& of) -> const auto& {
                return of.not_compared ? of.not_compared->cluster_text : label_of(of).cluster_text;
              },
              "the cluster as typed")
          .integer(
              "ranks",
              [](const MixedRow& of) {
                return of.not_compared ? of.not_compared->ranks : std::optional(label_of(of).ranks);
              },
              "GPUs of the candidate; null if its cluster could not be read")
          .members_of([](const MixedRow& of) { return of.not_compared == nullptr ? &of : nullptr; },
                      described_mixed())
          .members_of([](const MixedRow& of) { return of.not_compared; }, described_not_mixed());
  return described;
}

}  // namespace

const Described<MixReport>& described_mix() {
  using Report = MixReport;
  static const auto described =
      Described<Report>("Mix", "several workloads together, each with its share")
          .text(
              "reference",
              [](const Report& of) -> const auto& { return of.labels[of.reference].label; },
              "the candidate whose time the shares refer to")
          .list(
              "rows", [](const Report& of) { return candidate_rows(of, of.mix.candidates.size()); },
              described_mixed_row(),
              "candidates on which all workloads run, then those on which not all do")
          .integers(
              "by_speed", [](const Report& of) -> const auto& { return of.mix.by_speed; },
              "candidates by their index in rows, fastest first")
          .integers(
              "by_cost", [](const Report& of) { return by_cost_of(of.costs); },
              "candidates with a price by their index in rows, cheapest first. Only with prices",
              Absent::left_out)
          .list(
              "until", [](const Report& of) { return until_of(of.until); }, described_until(),
              "for each condition of --until, where in its range the condition holds. Only with "
              "--until",
              Absent::left_out)
          .boolean(
              "fastest_is_certain", [](const Report& of) { return contenders(of.mix).size() == 1; },
              "whether the fastest candidate stays the fastest with each error source at its "
              "bounds");
  return described;
}

}  // namespace ddpsim
