#include "described_comparison.hpp"

#include "cost_lines.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/ddp/scheme_notes.hpp"
#include "ddpsim/sim/step/compute_speed.hpp"
#include "described_candidates.hpp"
#include "described_elastic.hpp"
#include "described_job.hpp"
#include "described_recorded.hpp"
#include "described_step.hpp"
#include "described_trust.hpp"
#include "job_words.hpp"
#include "recorded_lines.hpp"

namespace ddpsim {
namespace {

using ComparedRow = CandidateRow<CompareReport>;

// Precondition of this and the functions below, except those for all rows: the candidate was
// compared.
const ComparedJob& compared(const ComparedRow& row) {
  return row.report.comparison.jobs[row.index];
}

const CandidateContext& context_of(const ComparedRow& row) {
  return row.report.contexts[row.index];
}

/// Keys of a compared row that come before its memory.
const Described<ComparedRow>& described_step_of_row() {
  static const auto described =
      Described<ComparedRow>("ComparedStep", "the step of a candidate that was compared")
          .text("changed_numerics", unless_empty([](const ComparedRow& of) {
                  return changed_numerics(context_of(of).job);
                }),
                "why equal speed is not equal training with this candidate: stale parameters, "
                "ranks that train apart or compressed gradients; null if it trains like DDP. "
                "Absent in a row that has an error")
          .number(
              "compute_scale",
              [](const ComparedRow& of) { return context_of(of).job.options().compute_scale; },
              "how many times as fast as recorded the candidate computes. Absent in a row that has "
              "an error")
          .number(
              "rank_slowdown",
              [](const ComparedRow& of) { return slowdown_shares(context_of(of).job).slowdown(); },
              "factor on the recorded compute time, from the slowest GPU and multi-GPU overhead. "
              "Absent in a row that has an error")
          .time(
              "iteration_us", [](const ComparedRow& of) { return compared(of).times.iteration; },
              "the step. Absent in a row that has an error")
          .time(
              "alone_us", [](const ComparedRow& of) { return compared(of).times.alone(); },
              "the step of one of the candidate's GPUs working alone, without DDP. Absent in a row "
              "that has an error")
          .members_of(
              [](const ComparedRow& of) {
                return training_speed(step_work(context_of(of).job), compared(of).times);
              },
              described_speed())
          .time(
              "exposed_communication_us",
              [](const ComparedRow& of) { return compared(of).times.exposed_communication; },
              "exposed communication: time in which compute waits for it. Absent in a row that has "
              "an error")
          .ratio(
              "exposed_share",
              [](const ComparedRow& of) {
                const StepTimes& times = compared(of).times;
                return times.exposed_communication / times.iteration;
              },
              "the share of the step that is exposed communication. Absent in a row that has an "
              "error")
          .time(
              "blocking_communication_us",
              [](const ComparedRow& of) { return compared(of).times.blocking_communication(); },
              "time of exposed communication, buffer broadcast, SyncBatchNorm and model averaging "
              "together. Absent in a row that has an error")
          .ratio(
              "blocking_share",
              [](const ComparedRow& of) {
                const StepTimes& times = compared(of).times;
                return times.blocking_communication() / times.iteration;
              },
              "the share of the step that is blocking communication. Absent in a row that has an "
              "error")
          .list(
              "loss",
              [](const ComparedRow& of) {
                return loss_rows(compared(of).times.loss, compared(of).confidence);
              },
              described_loss(),
              "time lost by cause, always in the same order; causes of averaging and of schemes "
              "only if they take time. Absent in a row that has an error")
          .object(
              "best_cap",
              [](const ComparedRow& of) {
                const std::optional<Recommendation>& best = compared(of).best_cap;
                return best ? std::optional(ShownRecommendation{*best}) : std::nullopt;
              },
              described_recommendation(),
              "what is advised for bucket_cap_mb; null for candidates that cannot be the fastest, "
              "with --no-tune and with --bucket-cap-mb-list. Absent in a row that has an error");
  return described;
}

std::optional<PricedCandidate> priced(const ComparedRow& row) {
  const CompareReport& report = row.report;
  if (!report.costs) return std::nullopt;
  const std::optional<CandidateCost>& cost = report.costs->candidates[row.index];
  if (!cost) return PricedCandidate{nullptr, {}};
  constexpr double kThousand = 1000;
  constexpr double kMillion = 1e6;
  const FigureRange& usd = cost->usd_per_work;
  const double work_of_step =
      compared(row).times.iteration.seconds() / compared(row).work->expected;
  CostAmounts amounts{.usd_per_1000_steps = usd.times(kThousand * work_of_step)};
  if (counts_samples(report)) amounts.usd_per_million_samples = usd.times(kMillion);
  if (const auto tokens = tokens_of_sample(report))
    amounts.usd_per_million_tokens = usd.times(kMillion / *tokens);
  if (report.training) {
    amounts.usd = usd.times(report.training->samples);
    amounts.seconds = cost->seconds_per_work.times(report.training->samples);
  }
  return PricedCandidate{&*cost, amounts};
}

/// Keys of a compared row that come after its memory.
const Described<ComparedRow>& described_certainty_of_row() {
  static const auto described =
      Described<ComparedRow>("ComparedCertainty",
                             "how certain the step of a candidate is, and what it is worth")
          .object(
              "elastic",
              [](const ComparedRow& of) -> const auto& { return context_of(of).elastic; },
              described_elastic(), "a long run whose nodes fail. Only with --nnodes",
              Absent::left_out)
          .boolean(
              "calibrated_by_recording",
              [](const ComparedRow& of) {
                return context_of(of).provenance.calibrated_by_recording;
              },
              "whether the recorded all-reduces calibrate the candidate's cost model. Absent in a "
              "row that has an error")
          .members_of(
              [](const ComparedRow& of) -> const auto& { return compared(of).confidence; },
              described_confidence())
          .object(
              "replay",
              [](const ComparedRow& of) {
                const Trust& trust = context_of(of).trust;
                return trust.replay ? &trust : nullptr;
              },
              described_replay(),
              "the measured step compared with its replay. Only with --measured-step for this "
              "cluster",
              Absent::left_out)
          .text(
              "corrected_by",
              [](const ComparedRow& of) {
                const std::optional<std::size_t>& by = compared(of).corrected_by;
                return by ? &cluster_name(of.report.contexts[*by]) : nullptr;
              },
              "the candidate whose measured step also corrects this one's compute. Only with "
              "--measured-step for another cluster",
              Absent::left_out)
          .members_of(
              [](const ComparedRow& of) -> const auto& { return compared(of).behind; },
              described_behind())
          .members_of(&priced, described_priced());
  return described;
}

const Described<ComparedRow>& described_compared_row() {
  static const auto if_compared = [](const ComparedRow& of) {
    return of.not_compared == nullptr ? &of : nullptr;
  };
  static const auto described =
      Described<ComparedRow>("CompareRow", "a candidate, or why it could not be compared")
          .text(
              "label",
              [](const ComparedRow& of) -> const std::string& {
                return of.not_compared ? of.not_compared->label : cluster_name(context_of(of));
              },
              "what the candidate is called")
          .text(
              "cluster",
              [](const ComparedRow& of) -> const std::string& {
                return of.not_compared ? of.not_compared->cluster_text
                                       : context_of(of).provenance.cluster_source;
              },
              "the cluster as typed")
          .integer(
              "ranks",
              [](const ComparedRow& of) {
                return of.not_compared ? of.not_compared->ranks
                                       : std::optional(context_of(of).job.cluster().ranks());
              },
              "GPUs of the candidate; null if its cluster could not be read")
          .members_of(if_compared, described_step_of_row())
          .text(
              "error",
              [](const ComparedRow& of) {
                return of.not_compared ? &of.not_compared->error : nullptr;
              },
              "why the candidate could not be compared. Only in a row without results",
              Absent::left_out)
          .object(
              "memory", [](const ComparedRow& of) -> const auto& {
                return of.not_compared ? of.not_compared->memory : context_of(of).memory;
              },
              described_memory(), "peak memory of a rank; null if it was not counted")
          .members_of(if_compared, described_certainty_of_row());
  return described;
}

/// Whether the fastest candidate stays the fastest in every scenario.
bool fastest_is_certain(const CompareReport& report) {
  const Comparison& comparison = report.comparison;
  bool certain = true;
  for (std::size_t k = 1; k < comparison.by_speed.size(); ++k)
    certain = certain && comparison.jobs[comparison.by_speed[k]].behind.certain();
  return certain;
}

const std::optional<RecordedJob>& recorded(const CompareReport& report) {
  return report.contexts[beside_recording(report.contexts)].provenance.recorded;
}

}  // namespace

const Described<CompareReport>& described_comparison() {
  using Report = CompareReport;
  static const auto described =
      Described<Report>("WorkloadComparison", "one workload on several candidates")
          .text(
              "workload",
              [](const Report& of) -> const auto& { return workload_name(of.contexts.front()); },
              "the workload that all candidates train")
          .members_of([](const Report& of) -> const ReportContext& { return of.contexts.front(); },
                      described_versions())
          .text(
              "bucket_setting",
              [](const Report& of) { return bucket_setting(of.contexts.front().job); },
              "the bucket setting in words")
          .integer("global_batch", &Report::global_batch,
                   "samples of all ranks in a step, the same on every candidate. Only with "
                   "--global-batch",
                   Absent::left_out)
          .number(
              "samples",
              [](const Report& of) {
                return of.training ? std::optional(of.training->samples) : std::nullopt;
              },
              "samples that are to be trained. Only with --samples or --steps", Absent::left_out)
          .list(
              "rows",
              [](const Report& of) { return candidate_rows(of, of.comparison.jobs.size()); },
              described_compared_row(),
              "candidates in the order given; those that could not be compared come last")
          .integers(
              "by_speed", [](const Report& of) -> const auto& { return of.comparison.by_speed; },
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
          .boolean("fastest_is_certain", &fastest_is_certain,
                   "whether the fastest candidate stays the fastest with each error source at its "
                   "bounds")
          .object(
              "recorded", &recorded, described_recorded(),
              "the recorded job compared with its prediction; null if no all-reduce was recorded")
          .integer(
              "recorded_row",
              [](const Report& of) {
                return recorded(of) ? std::optional(beside_recording(of.contexts)) : std::nullopt;
              },
              "index in rows of the candidate that the recording is compared with: the first that "
              "may be the recorded cluster, else 0; null without recorded");
  return described;
}

}  // namespace ddpsim
