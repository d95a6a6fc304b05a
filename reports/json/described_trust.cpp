#include "described_trust.hpp"

#include <array>

#include "error_source.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const Described<NextMeasurement>& described_next() {
  static const auto described =
      Described<NextMeasurement>("NextMeasurement", "a measurement that would narrow the interval")
          .word("source", &NextMeasurement::source, all_error_sources(),
                "the error source that the measurement would narrow")
          .text("command", &NextMeasurement::command, "the command that measures it")
          .text("then", &NextMeasurement::then, "what to do with the measurement");
  return described;
}

const Described<Confidence>& described_grade() {
  static const auto described =
      Described<Confidence>("Confidence", "how certain a prediction is, and why")
          .word("grade", &Confidence::grade, all_up_to(Grade::c),
                "how certain the prediction is, from A (most certain) to C")
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
                  "the single measurement that would help most; null if none would help");
  return described;
}

const Described<Sensitivity>& described_sensitivity() {
  static const auto described =
      Described<Sensitivity>("Sensitivity", "a source of error", Layout::line)
          .word("source", &Sensitivity::source, all_error_sources(), "the error source")
          .time("low_us", &Sensitivity::low,
                "time that the source may take off the step, as a number of 0 or less")
          .time("high_us", &Sensitivity::high, "time that the source may add to the step");
  return described;
}

/// One explanation of the measured step.
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
      Described<Explained>("Explanation", "factors that would give the measured step", Layout::line)
          .word("cause", &Explained::cause, all_up_to(Cause::communication),
                "what takes longer than predicted")
          .ratio(
              "compute_factor", [](const Explained& of) { return of.by.compute; },
              "factor on the predicted compute time")
          .ratio(
              "collectives_factor", [](const Explained& of) { return of.by.collectives; },
              "factor on the predicted time of collectives")
          .time("iteration_us", of_times(&StepTimes::iteration),
                "time of the step with both factors")
          .time("forward_us", of_times(&StepTimes::forward),
                "time of the forward pass with both factors")
          .time("backward_us", of_times(&StepTimes::backward),
                "time of the backward pass with both factors")
          .time("exposed_communication_us", of_times(&StepTimes::exposed_communication),
                "exposed communication time with both factors")
          .time("blocking_communication_us", of_times(&StepTimes::blocking_communication),
                "time of exposed communication, buffer broadcast, SyncBatchNorm and model "
                "averaging together, with both factors")
          .ratio("overlap", of_times(&StepTimes::overlap),
                 "the share of communication that compute hides, 0 to 1, with both factors; null "
                 "without communication");
  return described;
}

const Described<MeasuredSpread>& described_spread() {
  static const auto described =
      Described<MeasuredSpread>("MeasuredSpread", "how much measured steps vary")
          .integer("measured_steps", &MeasuredSpread::steps,
                   "how many steps were measured. Only if there are several")
          .time("measured_low_us", &MeasuredSpread::low,
                "low end of the interval that holds 80 % of further steps. Only if several steps "
                "were measured")
          .time("measured_high_us", &MeasuredSpread::high,
                "high end of the interval that holds 80 % of further steps. Only if several steps "
                "were measured");
  return described;
}

std::optional<std::vector<CalibratedShape>> logs_of(const ReportContext& context) {
  auto logs = logs_of(context.job.cluster(), backend_of(context.job.model()));
  return logs.empty() ? std::nullopt : std::optional(std::move(logs));
}

}  // namespace

const Described<Confidence>& described_confidence() {
  static const auto described =
      Described<Confidence>("TrustedConfidence",
                            "how certain a prediction is, and what it depends on")
          .object(
              "confidence", [](const Confidence& of) -> const auto& { return of; },
              described_grade(), "how certain the prediction is, and why")
          .list(
              "sensitivities",
              [](const Confidence& of) {
                return of.sensitivities.empty() ? nullptr : &of.sensitivities;
              },
              described_sensitivity(),
              "the effect of each error source on the step, widest first. The interval is the root "
              "of the sum of squares; if the replay contradicts a measured step, the interval "
              "reaches to that step",
              Absent::left_out);
  return described;
}

const Described<Trust>& described_replay() {
  static const auto described =
      Described<Trust>("Replay", "a measured step compared with its replay")
          .time(
              "measured_us", [](const Trust& of) { return of.replay->measured; },
              "time of the measured step; the median if there are several")
          .time(
              "predicted_us", [](const Trust& of) { return of.replay->predicted; },
              "time of the replay, that is, of the predicted step")
          .time(
              "residual_us", [](const Trust& of) { return of.replay->residual(); },
              "the measured step minus the predicted one")
          .ratio(
              "residual_percent",
              [](const Trust& of) { return 100 * (of.replay->residual() / of.replay->measured); },
              "the measured step minus the predicted one, in percent of the measured step")
          .members_of(
              [](const Trust& of) -> const auto& { return of.replay->spread; }, described_spread())
          .list(
              "explained_by",
              [](const Trust& of) {
                return of.correction ? std::optional(both_explanations(*of.correction))
                                     : std::nullopt;
              },
              described_explanation(),
              "two explanations of the measured step: by compute, which the document uses, and by "
              "communication; null if step and replay contradict each other");
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
              "a digest of the log; with it validate recognises a log that calibrates the cluster");
  return described;
}

const Described<ReportContext>& described_trust() {
  static const auto described =
      Described<ReportContext>("ContextTrust", "how far to trust an answer")
          .members_of(
              [](const ReportContext& of) -> const auto& { return of.trust.confidence; },
              described_confidence())
          .texts(
              "warnings",
              [](const ReportContext& of) -> const auto& { return of.trust.warnings.texts(); },
              "warnings, one sentence each")
          .list(
              "calibrated_by", [](const ReportContext& of) { return logs_of(of); }, described_log(),
              "logs whose measured times the cluster reproduces. Only if it is calibrated",
              Absent::left_out)
          .object(
              "replay",
              [](const ReportContext& of) { return of.trust.replay ? &of.trust : nullptr; },
              described_replay(),
              "the measured step compared with its replay. Only with --measured-step",
              Absent::left_out);
  return described;
}

}  // namespace ddpsim
