#include <array>

#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/reports/reports.hpp"
#include "described_advice.hpp"
#include "described_curve.hpp"
#include "described_documents.hpp"
#include "described_job.hpp"
#include "described_recorded.hpp"
#include "described_step.hpp"
#include "described_trust.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// What the job runs now, and the options that give its recorded buckets, or null if none do.
struct ShownCurrent {
  const CurrentBuckets& current;
  const BucketSetting* setting;
};

std::optional<ShownCurrent> shown_current(const TuneReport& report) {
  const std::optional<CurrentBuckets>& current = report.result.current;
  if (!current) return std::nullopt;
  const std::optional<RecordedJob>& recorded = report.context.provenance.recorded;
  return ShownCurrent{*current, recorded && recorded->setting ? &*recorded->setting : nullptr};
}

const Described<ShownCurrent>& described_current() {
  using Shown = ShownCurrent;
  static const auto described =
      Described<Shown>("Today", "the current bucket assignment")
          .boolean(
              "recorded", [](const Shown& of) { return of.current.recorded; },
              "whether the buckets are the recorded ones; if false, the options give them")
          .number(
              "bucket_cap_mb",
              [](const Shown& of) {
                return of.setting ? of.setting->bucket_cap_mb : of.current.point.bucket_cap_mb;
              },
              "the cap that gives the current buckets, in MiB; null if it is the default or no cap "
              "does")
          .number(
              "first_bucket_mb",
              [](const Shown& of) {
                return of.setting ? of.setting->first_bucket_mb : of.current.point.first_bucket_mb;
              },
              "the limit of the first bucket that gives the current buckets, in MiB; null if it is "
              "the default or none does")
          .integers(
              "bucket_bytes",
              [](const Shown& of) -> const auto& { return of.current.bucket_bytes; },
              "bytes of each current bucket")
          .time(
              "iteration_us", [](const Shown& of) { return of.current.point.iteration; },
              "time of the current step")
          .time(
              "exposed_communication_us",
              [](const Shown& of) { return of.current.point.exposed_communication; },
              "exposed communication time of the current step")
          .time(
              "blocking_communication_us",
              [](const Shown& of) { return of.current.point.blocking_communication; },
              "time of exposed communication, buffer broadcast, SyncBatchNorm and model averaging "
              "of the current step together");
  return described;
}

/// The advice in one of several cases.
template <typename Advice>
struct ShownAdvice {
  const Advice& advice;
  bool default_as_current;  ///< the current setting is the default
};

/// Absent if there are no cases, or no cap can be recommended.
template <typename Advice>
std::optional<std::vector<ShownAdvice<Advice>>> shown_advice(const TuneReport& report,
                                                             const std::vector<Advice>& cases) {
  if (cases.empty() || !report.no_cap_because.empty()) return std::nullopt;
  std::vector<ShownAdvice<Advice>> shown;
  for (const Advice& advice : cases) shown.push_back({advice, !report.result.current.has_value()});
  return shown;
}

template <typename Advice>
void add_setting(Described<ShownAdvice<Advice>>& described) {
  using Shown = ShownAdvice<Advice>;
  described
      .one_of(
          "action",
          [](const Shown& of) {
            if (of.advice.set) return "set";
            return of.default_as_current ? "keep default" : "keep today";
          },
          {"set", "keep default", "keep today"},
          "what would be advised; \"set\" without a cap means to pass nothing")
      .number(
          "bucket_cap_mb", [](const Shown& of) { return of.advice.bucket_cap_mb; },
          "the cap that would be advised, in MiB; null if you should pass nothing")
      .number(
          "first_bucket_mb", [](const Shown& of) { return of.advice.first_bucket_mb; },
          "the limit of the first bucket that would be advised, in MiB; null if you should pass "
          "nothing");
}

const Described<ShownAdvice<AdviceByVersion>>& described_by_version() {
  using Shown = ShownAdvice<AdviceByVersion>;
  static const auto described = [] {
    Described<Shown> advice("VersionRecommendation",
                            "what would be advised for some versions of PyTorch", Layout::line);
    advice
        .text(
            "torch_from", [](const Shown& of) { return to_string(of.advice.versions.from); },
            "the oldest PyTorch version that the advice is for")
        .text(
            "torch_to",
            [](const Shown& of) {
              const TorchVersion to = of.advice.versions.to;
              return to == kNewestTorch ? std::nullopt : std::optional(to_string(to));
            },
            "the newest PyTorch version that the advice is for; null if there is no limit")
        .texts(
            "nccl",
            [](const Shown& of) {
              const VersionRange& versions = of.advice.versions;
              return std::array{to_string(versions.oldest_nccl), to_string(versions.newest_nccl)};
            },
            "the oldest and the newest NCCL version from torch_from to torch_to");
    add_setting(advice);
    advice.object(
        "gain_us", [](const Shown& of) { return shown_interval(of.advice.gain); },
        described_interval(),
        "the current step minus the advised step: the smaller gain of the oldest and the newest "
        "version");
    return advice;
  }();
  return described;
}

const Described<ShownAdvice<AdviceByCause>>& described_by_cause() {
  using Shown = ShownAdvice<AdviceByCause>;
  static const auto described = [] {
    Described<Shown> advice("CauseRecommendation",
                            "what would be advised if the replay error has one cause",
                            Layout::line);
    advice.word(
        "cause", [](const Shown& of) { return of.advice.cause; }, all_up_to(Cause::communication),
        "what takes longer than the replay of the measured step predicts");
    add_setting(advice);
    advice.object(
        "gain_us", [](const Shown& of) { return shown_interval(of.advice.gain); },
        described_interval(), "the current step minus the advised step");
    return advice;
  }();
  return described;
}

std::vector<Bytes> partition_bytes(const BestPartition& partition) {
  std::vector<Bytes> bytes;
  for (const Bucket& bucket : partition.buckets) bytes.push_back(bucket.bytes);
  return bytes;
}

const Described<BestPartition>& described_partition() {
  static const auto described =
      Described<BestPartition>("Partition", "the best contiguous partition that was found")
          .integers("bucket_bytes", &partition_bytes, "bytes of each bucket of the partition")
          .time("iteration_us", &BestPartition::iteration, "time of the step with the partition")
          .boolean("reachable", &BestPartition::reachable,
                   "whether a cap or bucket_cap_mb_list gives the partition")
          .integer(
              "buckets", [](const BestPartition& of) { return of.buckets.size(); },
              "number of buckets");
  return described;
}

/// Reads a point of the result.
auto step_at(CurvePoint TuneResult::*point) {
  return [point](const TuneReport& of) {
    return CurveStep{of.result.*point, step_work(of.context.job)};
  };
}

const Described<TuneReport>& described_tune() {
  using Report = TuneReport;
  static const auto context = [](const Report& of) -> const ReportContext& { return of.context; };
  static const auto described =
      Described<Report>("TuneResult", "whether another cap is worth setting, and the step by cap")
          .constant("schema", "ddpsim.tune/1", "which document this is")
          .members_of(context, described_setting())
          .object(
              "budget", [](const Report& of) -> const auto& { return of.step.budget; },
              described_budget(), "how the GPU spends the current step, in parts that add up to it")
          .members_of(
              [](const Report& of) -> const auto& { return of.step.speed; }, described_speed())
          .object("default", step_at(&TuneResult::default_setting), described_curve_step(),
                  "the bucket assignment if nothing is passed")
          .object("today", &shown_current, described_current(),
                  "the current bucket assignment, from which gains are counted; null if it is the "
                  "default")
          .object("best", step_at(&TuneResult::best), described_curve_step(),
                  "the fastest bucket assignment that this PyTorch lets a user set")
          .object(
              "recommended",
              [](const Report& of) {
                return ShownRecommendation{of.result.recommended, of.no_cap_because};
              },
              described_recommendation(), "what is advised for bucket_cap_mb")
          .list(
              "recommended_by_version",
              [](const Report& of) { return shown_advice(of, of.result.by_version); },
              described_by_version(),
              "the advice for each range of possible PyTorch versions; null if the version is "
              "known or nothing can be recommended. If a cap is recommended, all of them recommend "
              "it, and none is slower than the current setting")
          .list(
              "recommended_by_cause",
              [](const Report& of) { return shown_advice(of, of.result.by_cause); },
              described_by_cause(),
              "the advice if the replay error is in compute, and if it is in communication; if a "
              "cap is recommended, both recommend it. Only with --measured-step",
              Absent::left_out)
          .object("better_lever", &Report::better_setting, described_advice_row(),
                  "a single setting that keeps the batch and is expected to gain measurably more "
                  "than any cap; null if there is none")
          .integer(
              "bucketings",
              [](const Report& of) { return of.result.curve.size() + of.result.unsimulated; },
              "number of bucket assignments. If the curve has fewer, it holds those that were "
              "simulated: the fastest by a quick estimate, and a sample of the others")
          .list("curve", &curve_steps, described_curve_step(),
                "every bucket assignment once, sorted by first bucket, then by cap; with --caps "
                "only those of the given caps")
          .time(
              "lower_bound_us", [](const Report& of) { return of.result.lower_bound; },
              "time of the step if collectives took no time")
          .object(
              "best_partition",
              [](const Report& of) -> const auto& { return of.result.best_partition; },
              described_partition(),
              "the best partition found among all contiguous partitions of the gradients; if null, "
              "best_partition_absent_because says why")
          .text(
              "best_partition_absent_because",
              [](const Report& of) {
                return of.result.best_partition ? nullptr
                                                : &of.result.best_partition_absent_because;
              },
              "why there is no best partition. Only if best_partition is null", Absent::left_out)
          .object(
              "recorded",
              [](const Report& of) -> const auto& { return of.context.provenance.recorded; },
              described_recorded(),
              "the recorded job compared with its prediction; null if no all-reduce was recorded")
          .members_of(context, described_trust());
  return described;
}

}  // namespace

std::vector<CurveStep> curve_steps(const TuneReport& report) {
  const StepWork work = step_work(report.context.job);
  std::vector<CurveStep> steps;
  for (const CurvePoint& point : report.result.curve) steps.push_back({point, work});
  return steps;
}

const Described<CurveStep>& described_curve_step() {
  static const auto described =
      Described<CurveStep>("CurvePoint", "a bucket assignment and its step", Layout::line)
          .number("bucket_cap_mb", &CurvePoint::bucket_cap_mb,
                  "the cap in MiB; null if nothing is passed")
          .number("first_bucket_mb", &CurvePoint::first_bucket_mb,
                  "the limit of the first bucket, in MiB")
          .numbers("cap_range_mb", ends_of(&CurvePoint::cap_range_mb),
                   "lowest and highest cap with this bucket assignment, in MiB")
          .time("iteration_us", &CurvePoint::iteration,
                "time of the step with this bucket assignment")
          .ratio(
              "samples_per_second",
              [](const CurveStep& of) {
                return training_speed(of.work, {.iteration = of.iteration}).samples_per_second;
              },
              "samples per second of all ranks together with this bucket assignment; null if the "
              "batch is not known")
          .time("exposed_communication_us", &CurvePoint::exposed_communication,
                "exposed communication: time in which compute waits for it")
          .time("blocking_communication_us", &CurvePoint::blocking_communication,
                "time of exposed communication, buffer broadcast, SyncBatchNorm and model "
                "averaging together")
          .integer("buckets", &CurvePoint::buckets, "number of buckets")
          .boolean("reachable", &CurvePoint::reachable,
                   "whether this PyTorch lets a user set the cap")
          .time("if_communication_us", &CurvePoint::if_communication,
                "time of the step if the replay error is in collectives; iteration_us assumes it "
                "is in compute. Only with --measured-step",
                Absent::left_out);
  return described;
}

const ObjectType& tune_document() {
  return described_tune().type();
}

std::string tune_json(const TuneReport& report) {
  return described_tune().text_of(report);
}

}  // namespace ddpsim
