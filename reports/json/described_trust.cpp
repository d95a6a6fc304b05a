#include "described_trust.hpp"

#include <array>

#include "error_source.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const Described<NextMeasurement>& described_next() {
  static const auto described =
      Described<NextMeasurement>("NextMeasurement", "a measurement that would narrow the interval")
          .word("source", &NextMeasurement::source, all_error_sources(), "what is most in doubt")
          .text("command", &NextMeasurement::command, "what measures the source")
          .text("then", &NextMeasurement::then, "what to do with the measurement");
  return described;
}

const Described<Confidence>& described_grade() {
  static const auto described =
      Described<Confidence>("Confidence", "how sure a prediction is, and why")
          .word("grade", &Confidence::grade, all_up_to(Grade::c),
                "how sure the prediction is; A is the surest")
          .text("provenance", unless_empty(&Confidence::provenance),
                "the grade in words, as text prints it")
          .ratios(
              "interval_percent",
              [](const Confidence& of) {
                return std::array{of.low_percent, of.high_percent};
              },
              "low and high end of the 80 % interval, in percent of the prediction")
          .texts("because", &Confidence::because, "what the grade rests on")
          .object("measure_next", &Confidence::measure_next, described_next(),
                  "the measurement that would help most; null: no single one would");
  return described;
}

const Described<Sensitivity>& described_sensitivity() {
  static const auto described =
      Described<Sensitivity>("Sensitivity", "a source of error", Layout::line)
          .word("source", &Sensitivity::source, all_error_sources(), "what may err")
          .time("low_us", &Sensitivity::low, "what the source may take off the step; 0 or less")
          .time("high_us", &Sensitivity::high, "what the source may add to the step");
  return described;
}

/// By what the measured step may be explained.
struct Explained {
  Cause cause;
  const Explanation& by;
};

std::vector<Explained> both_explanations(const MeasuredCorrection& correction) {
  return {{Cause::compute, correction.all_compute},
          {Cause::communication, correction.all_communication}};
}

const Described<Explained>& described_explanation() {
  const auto of_times = [](auto time) {
    return [time](const Explained& of) -> decltype(auto) { return std::invoke(time, of.by.times); };
  };
  static const auto described =
      Described<Explained>("Explanation", "what would give the measured step", Layout::line)
          .word("cause", &Explained::cause, all_up_to(Cause::communication),
                "what takes longer than predicted")
          .ratio(
              "compute_factor", [](const Explained& of) { return of.by.compute; },
              "how many times as long as predicted compute takes")
          .ratio(
              "collectives_factor", [](const Explained& of) { return of.by.collectives; },
              "how many times as long as predicted collectives take")
          .time("iteration_us", of_times(&StepTimes::iteration), "the step with both factors")
          .time("forward_us", of_times(&StepTimes::forward), "the forward pass with both factors")
          .time("backward_us", of_times(&StepTimes::backward),
                "the backward pass with both factors")
          .time("exposed_communication_us", of_times(&StepTimes::exposed_communication),
                "communication that compute waits for, with both factors")
          .time("blocking_communication_us", of_times(&StepTimes::blocking_communication),
                "exposed communication, buffer broadcast, SyncBatchNorm and model averaging "
                "together, with both factors")
          .ratio("overlap", of_times(&StepTimes::overlap),
                 "the share of communication that is hidden, 0 to 1, with both factors; null "
                 "without communication");
  return described;
}

const Described<MeasuredSpread>& described_spread() {
  static const auto described =
      Described<MeasuredSpread>("MeasuredSpread", "how far measured steps lie apart")
          .integer("measured_steps", &MeasuredSpread::steps,
                   "how many steps were measured. Only of several steps")
          .time("measured_low_us", &MeasuredSpread::low,
                "low end of the interval that holds four in five further steps. Only of several "
                "steps")
          .time("measured_high_us", &MeasuredSpread::high,
                "high end of the interval that holds four in five further steps. Only of several "
                "steps");
  return described;
}

std::optional<std::vector<CalibratedShape>> logs_of(const ReportContext& context) {
  auto logs = logs_of(context.job.cluster(), backend_of(context.job.model()));
  return logs.empty() ? std::nullopt : std::optional(std::move(logs));
}

}  // namespace

const Described<Confidence>& described_confidence() {
  static const auto described =
      Described<Confidence>("TrustedConfidence", "how sure a prediction is, and what it hangs on")
          .object(
              "confidence", [](const Confidence& of) -> const auto& { return of; },
              described_grade(), "how sure the prediction is, and why")
          .list(
              "sensitivities",
              [](const Confidence& of) {
                return of.sensitivities.empty() ? nullptr : &of.sensitivities;
              },
              described_sensitivity(),
              "what each source of error may take off the step and add to it, widest first; the "
              "root of the sum of squares is the interval, or where a measured step contradicts "
              "its replay, the interval reaches to it",
              Absent::left_out);
  return described;
}

const Described<Trust>& described_replay() {
  static const auto described =
      Described<Trust>("Replay", "a measured step beside its replay")
          .time(
              "measured_us", [](const Trust& of) { return of.replay->measured; },
              "the measured step; of several steps their median")
          .time(
              "predicted_us", [](const Trust& of) { return of.replay->predicted; },
              "the replay: the step as predicted")
          .time(
              "residual_us", [](const Trust& of) { return of.replay->residual(); },
              "the measured step less the predicted one")
          .ratio(
              "residual_percent",
              [](const Trust& of) { return 100 * (of.replay->residual() / of.replay->measured); },
              "the measured step less the predicted one, in percent of the measured step")
          .members_of(
              [](const Trust& of) -> const auto& { return of.replay->spread; }, described_spread())
          .list(
              "explained_by",
              [](const Trust& of) {
                return of.correction ? std::optional(both_explanations(*of.correction))
                                     : std::nullopt;
              },
              described_explanation(),
              "what would give the measured step: first by compute, which the rest of the document "
              "takes, then by communication; null where step and replay contradict each other");
  return described;
}

std::vector<CalibratedShape> logs_of(const Cluster& cluster, Backend backend) {
  std::vector<CalibratedShape> logs;
  if (backend == Backend::gloo && cluster.gloo) logs = cluster.gloo->logs;
  if (backend == Backend::nccl && cluster.calibration) logs = cluster.calibration->shapes;
  std::erase_if(logs, [](const CalibratedShape& log) { return log.digest.empty(); });
  return logs;
}

const Described<CalibratedShape>& described_log() {
  static const auto described =
      Described<CalibratedShape>("CalibratedBy", "a log that calibrates the cluster", Layout::line)
          .text("source", &CalibratedShape::source, "where the log is from")
          .text(
              "digest", &CalibratedShape::digest,
              "a digest of the log, by which validate knows that it judges a log that calibrates");
  return described;
}

const Described<ReportContext>& described_trust() {
  static const auto described =
      Described<ReportContext>("ContextTrust", "how far an answer is to be trusted")
          .members_of(
              [](const ReportContext& of) -> const auto& { return of.trust.confidence; },
              described_confidence())
          .texts(
              "warnings",
              [](const ReportContext& of) -> const auto& { return of.trust.warnings.texts(); },
              "what a reader should know, a sentence each")
          .list(
              "calibrated_by", [](const ReportContext& of) { return logs_of(of); }, described_log(),
              "logs whose measured times the cluster gives back. Only where it is calibrated",
              Absent::left_out)
          .object(
              "replay",
              [](const ReportContext& of) { return of.trust.replay ? &of.trust : nullptr; },
              described_replay(), "the measured step beside its replay. Only with --measured-step",
              Absent::left_out);
  return described;
}

}  // namespace ddpsim
