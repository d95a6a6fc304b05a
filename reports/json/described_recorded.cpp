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
                "the least recorded step or the 10th percentile, as low_high says, in microseconds")
          .time(
              "high", &StepSpread::high,
              "the longest recorded step or the 90th percentile, as low_high says, in microseconds")
          .one_of(
              "low_high",
              [](const StepSpread& of) {
                return of.percentiles ? "p10 and p90" : "least and most";
              },
              {"p10 and p90", "least and most"},
              "what low and high are: percentiles from ten recorded steps on")
          .time("next_low", &StepSpread::next_low,
                "low end of the interval that holds four in five further steps, in microseconds")
          .time("next_high", &StepSpread::next_high,
                "high end of the interval that holds four in five further steps, in microseconds")
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

/// A bucket, and whether its wait for the last rank is told apart.
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
      Described<Shown>("RecordedBucket", "a recorded all-reduce beside its prediction",
                       Layout::line)
          .integer(
              "bytes", [](const Shown& of) { return of.bucket.bytes; }, "bytes that travelled")
          .object(
              "duration_us", [](const Shown& of) -> const auto& { return of.bucket; },
              described_durations(),
              "how long the all-reduce took over the recorded steps; where one rank was recorded, "
              "its wait for the last rank included")
          .time(
              "transfer_us",
              [](const Shown& of) {
                return of.waits_apart ? std::optional(of.bucket.median) : std::nullopt;
              },
              "the median transfer, without the wait for the last rank; null where ranks were not "
              "joined")
          .time(
              "predicted_us", [](const Shown& of) { return of.bucket.predicted; },
              "the transfer as predicted")
          .boolean(
              "inside", [](const Shown& of) { return is_inside(of.bucket, of.waits_apart); },
              "whether the prediction fits: within a tenth of the shortest and longest transfer, "
              "or, where waits are not told apart, no longer than the shortest");
  return described;
}

}  // namespace

const Described<RecordedJob>& described_recorded() {
  static const auto described =
      Described<RecordedJob>("Recorded", "what the recorded job did, beside its prediction")
          .text("torch", unless_empty(&RecordedJob::torch),
                "the PyTorch version the job was recorded with; null where not known")
          .text(
              "nccl",
              [](const RecordedJob& of) {
                return of.nccl ? std::optional(to_string(*of.nccl)) : std::nullopt;
              },
              "the NCCL version the job was recorded with; null where not known")
          .integer("ranks", &RecordedJob::ranks, "GPUs of the recorded job")
          .boolean("comparable", &RecordedJob::comparable,
                   "whether recorded and predicted times can be compared: the job ran on as many "
                   "GPUs of the same model")
          .boolean("same_buckets", &RecordedJob::same_buckets,
                   "whether the recorded buckets are those that the options give")
          .time("all_reduce_us", &RecordedJob::recorded,
                "recorded time of all all-reduces of a step")
          .time("predicted_us", &RecordedJob::predicted,
                "predicted time of all all-reduces of a step")
          .integer("steps", &RecordedJob::steps, "how many recorded steps have such all-reduces")
          .object("iteration_us", &RecordedJob::iterations, described_steps(),
                  "how long the recorded steps took; null of fewer than two")
          .integer("channels", &RecordedJob::channels,
                   "channels of the recorded all-reduces; 0 where not recorded")
          .integer("predicted_channels", &RecordedJob::predicted_channels,
                   "channels of the predicted all-reduces; 0 where nothing chooses them")
          .list("buckets", &shown_buckets, described_recorded_bucket(),
                "recorded all-reduces beside their predictions, in launch order");
  return described;
}

}  // namespace ddpsim
