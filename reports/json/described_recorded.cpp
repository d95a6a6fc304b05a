#include "described_recorded.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const Described<StepSpread>& described_steps() {
  static const auto described =
      Described<StepSpread>("RecordedSteps", "how recorded steps vary", Layout::line)
          .integer("steps", &StepSpread::steps, "how many steps were recorded")
          .time("median", &StepSpread::median, "the median recorded step, in microseconds")
          .time("low", &StepSpread::low,
                "the shortest recorded step or the 10th percentile (see low_high), in microseconds")
          .time("high", &StepSpread::high,
                "the longest recorded step or the 90th percentile (see low_high), in microseconds")
          .one_of(
              "low_high",
              [](const StepSpread& of) {
                return of.percentiles ? "p10 and p90" : "least and most";
              },
              {"p10 and p90", "least and most"},
              "whether low and high are percentiles, as from ten recorded steps on, or the "
              "extremes")
          .time("next_low", &StepSpread::next_low,
                "low end of the interval that holds 80 % of further steps, in microseconds")
          .time("next_high", &StepSpread::next_high,
                "high end of the interval that holds 80 % of further steps, in microseconds")
          .time("mean_error", &StepSpread::mean_error,
                "half the width of the 80 % interval of the mean of the middle half of the steps, "
                "in microseconds");
  return described;
}

const Described<RecordedBucket>& described_durations() {
  static const auto described =
      Described<RecordedBucket>("Durations", "durations over recorded steps", Layout::line)
          .time("min", &RecordedBucket::least, "the shortest duration, in microseconds")
          .time("median", &RecordedBucket::median, "the median duration, in microseconds")
          .time("max", &RecordedBucket::most, "the longest duration, in microseconds");
  return described;
}

/// A recorded bucket, and whether its wait for the last rank is known separately.
struct ShownRecordedBucket {
  const RecordedBucket& bucket;
  bool waits_apart;
};

std::vector<ShownRecordedBucket> shown_buckets(const RecordedJob& recorded) {
  std::vector<ShownRecordedBucket> shown;
  for (const RecordedBucket& bucket : recorded.buckets)
    shown.push_back({bucket, recorded.waits_apart});
  return shown;
}

const Described<ShownRecordedBucket>& described_recorded_bucket() {
  using Shown = ShownRecordedBucket;
  static const auto described =
      Described<Shown>("RecordedBucket", "a recorded all-reduce compared with its prediction",
                       Layout::line)
          .integer(
              "bytes", [](const Shown& of) { return of.bucket.bytes; }, "bytes that were sent")
          .object(
              "duration_us", [](const Shown& of) -> const auto& { return of.bucket; },
              described_durations(),
              "durations of the all-reduce over the recorded steps; with one recorded rank they "
              "include its wait for the last rank")
          .time(
              "transfer_us",
              [](const Shown& of) {
                return of.waits_apart ? std::optional(of.bucket.median) : std::nullopt;
              },
              "median transfer time, without the wait for the last rank; null if the recordings of "
              "ranks were not joined")
          .time(
              "predicted_us", [](const Shown& of) { return of.bucket.predicted; },
              "predicted transfer time")
          .boolean(
              "inside", [](const Shown& of) { return is_inside(of.bucket, of.waits_apart); },
              "whether the prediction fits: within 10 % of the shortest and longest transfer, or, "
              "if waits are not known separately, at most the shortest");
  return described;
}

}  // namespace

const Described<RecordedJob>& described_recorded() {
  static const auto described =
      Described<RecordedJob>("Recorded", "the recorded job compared with its prediction")
          .text("torch", unless_empty(&RecordedJob::torch),
                "the PyTorch version the job was recorded with; null if not known")
          .text(
              "nccl",
              [](const RecordedJob& of) {
                return of.nccl ? std::optional(to_string(*of.nccl)) : std::nullopt;
              },
              "the NCCL version the job was recorded with; null if not known")
          .integer("ranks", &RecordedJob::ranks, "GPUs of the recorded job")
          .boolean("comparable", &RecordedJob::comparable,
                   "whether recorded and predicted times can be compared: the job ran on the same "
                   "number of GPUs of the same model")
          .boolean("same_buckets", &RecordedJob::same_buckets,
                   "whether the options give the recorded buckets")
          .time("all_reduce_us", &RecordedJob::recorded,
                "recorded time of all all-reduces of a step together")
          .time("predicted_us", &RecordedJob::predicted,
                "predicted time of all all-reduces of a step together")
          .integer("steps", &RecordedJob::steps, "how many recorded steps have these all-reduces")
          .object("iteration_us", &RecordedJob::iterations, described_steps(),
                  "how long the recorded steps took; null with fewer than two")
          .integer("channels", &RecordedJob::channels,
                   "channels of the recorded all-reduces; 0 if not recorded")
          .integer("predicted_channels", &RecordedJob::predicted_channels,
                   "channels of the predicted all-reduces; 0 with gloo")
          .list("buckets", &shown_buckets, described_recorded_bucket(),
                "recorded all-reduces compared with their predictions, in launch order");
  return described;
}

}  // namespace ddpsim
