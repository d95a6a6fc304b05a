#include "described_job.hpp"

#include "ddpsim/sim/step/compute_speed.hpp"
#include "job_words.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const Described<Straggler>& described_straggler() {
  static const auto described =
      Described<Straggler>("Straggler", "a rank that was given as slower", Layout::line)
          .integer("rank", &Straggler::rank, "the rank")
          .number("slowdown", &Straggler::slowdown, "it takes so many times as long");
  return described;
}

const Described<RankVariation>& described_variation() {
  static const auto described =
      Described<RankVariation>("Variation", "how ranks differ")
          .list("stragglers", &RankVariation::stragglers, described_straggler(),
                "ranks that were given as slower")
          .number("jitter", &RankVariation::jitter, "the share by which ranks' compute varies")
          .time("stagger_us", &RankVariation::stagger, "how far apart ranks start")
          .integer("seed", &RankVariation::seed, "of what was drawn");
  return described;
}

/// Reads an option of a hook, where the job runs it.
template <typename Read>
auto of_hook(CommHook hook, Read read) {
  return [hook, read](const DdpOptions& ddp) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Read, const DdpOptions&>>;
    return ddp.comm_hook == hook ? std::optional<Value>(read(ddp)) : std::nullopt;
  };
}

/// What of DDP's options is no cap and not the default.
const Described<DdpOptions>& described_ddp() {
  static const auto described =
      Described<DdpOptions>("DdpOptions", "DDP's options that are not its defaults")
          .text(
              "comm_hook",
              [](const DdpOptions& of) {
                return of.comm_hook != CommHook::none ? std::optional(name_of(of.comm_hook))
                                                      : std::nullopt;
              },
              "the communication hook. Only with --comm-hook", Absent::left_out)
          .number(
              "comm_hook_min_mb",
              [](const DdpOptions& of) {
                return of.comm_hook_min_mb > 0 ? std::optional(of.comm_hook_min_mb) : std::nullopt;
              },
              "smaller buckets are all-reduced as they are. Only with --comm-hook-min-mb",
              Absent::left_out)
          .integer(
              "matrix_approximation_rank",
              of_hook(CommHook::power_sgd,
                      [](const DdpOptions& of) { return of.power_sgd.matrix_approximation_rank; }),
              "as powerSGD_hook takes it. Only with --comm-hook powersgd", Absent::left_out)
          .number("min_compression_rate",
                  of_hook(CommHook::power_sgd,
                          [](const DdpOptions& of) { return of.power_sgd.min_compression_rate; }),
                  "as powerSGD_hook takes it. Only with --comm-hook powersgd", Absent::left_out)
          .integer("local_sgd_period",
                   of_hook(CommHook::post_local_sgd,
                           [](const DdpOptions& of) { return of.local_sgd.period; }),
                   "steps from one averaging to the next. Only with --comm-hook post_localSGD",
                   Absent::left_out)
          .one_of("local_sgd_gradients",
                  of_hook(CommHook::post_local_sgd,
                          [](const DdpOptions& of) {
                            return of.local_sgd.averages_gradients ? "node" : "none";
                          }),
                  {"node", "none"},
                  "whether gradients are all-reduced within each node. Only with --comm-hook "
                  "post_localSGD",
                  Absent::left_out)
          .integer("sync_batchnorm_group", &DdpOptions::sync_batchnorm_group,
                   "ranks of each process group of SyncBatchNorm. Only with "
                   "--sync-batchnorm-group",
                   Absent::left_out);
  return described;
}

const Described<PeakMemory>& described_parts() {
  const auto part = [](auto MemoryParts::*which) {
    return [which](const PeakMemory& of) -> const auto& {
      return of.parts.*which;
    };
  };
  static const auto described =
      Described<PeakMemory>("MemoryParts", "what memory holds, part by part")
          .integer("parameters_bytes", part(&MemoryParts::parameters), "parameters")
          .integer("buffers_bytes", part(&MemoryParts::buffers), "buffers")
          .integer("gradients_bytes", part(&MemoryParts::gradients), "gradients beside the buckets")
          .integer("buckets_bytes", part(&MemoryParts::buckets), "buckets")
          .integer("comm_hook_bytes", part(&MemoryParts::hook),
                   "a communication hook's casts; powerSGD_hook's errors, P, Q and copies; what "
                   "local SGD averages next")
          .integer("optimizer_bytes", part(&MemoryParts::optimizer), "the optimizer's state")
          .integer("temporaries_bytes", part(&MemoryParts::temporaries),
                   "the optimizer's temporaries, or a gradient just written where held_bytes are "
                   "not known")
          .integer("activations_bytes", part(&MemoryParts::activations),
                   "activations; null where not known")
          .integer("rounding_bytes", &PeakMemory::rounding, "what PyTorch's allocator rounds up")
          .integer("segments_bytes", &PeakMemory::segments,
                   "what PyTorch's allocator takes beyond that, in whole segments")
          .integer("nccl_bytes", &PeakMemory::nccl, "NCCL's buffers, by its defaults");
  return described;
}

const Described<StepSpread>& described_steps() {
  static const auto described =
      Described<StepSpread>("RecordedSteps", "how recorded steps vary", Layout::line)
          .integer("steps", &StepSpread::steps, "recorded steps")
          .time("median", &StepSpread::median, "their median, in microseconds")
          .time("low", &StepSpread::low, "their low end, as low_high says, in microseconds")
          .time("high", &StepSpread::high, "their high end, as low_high says, in microseconds")
          .one_of(
              "low_high",
              [](const StepSpread& of) {
                return of.percentiles ? "p10 and p90" : "least and most";
              },
              {"p10 and p90", "least and most"},
              "what low and high are: percentiles from ten steps on")
          .time("next_low", &StepSpread::next_low,
                "four in five further steps take from so long …, in microseconds")
          .time("next_high", &StepSpread::next_high, "… to so long, in microseconds")
          .time("mean_error", &StepSpread::mean_error,
                "half the width of the 80 % interval of the mean of their middle half, in "
                "microseconds");
  return described;
}

const Described<RecordedBucket>& described_durations() {
  static const auto described =
      Described<RecordedBucket>("Durations", "durations over recorded steps", Layout::line)
          .time("min", &RecordedBucket::least, "the shortest, in microseconds")
          .time("median", &RecordedBucket::median, "the median, in microseconds")
          .time("max", &RecordedBucket::most, "the longest, in microseconds");
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
              "bytes", [](const Shown& of) { return of.bucket.bytes; }, "what travelled")
          .object(
              "duration_us", [](const Shown& of) -> const auto& { return of.bucket; },
              described_durations(),
              "over the recorded steps; of one rank with its wait for the last")
          .time(
              "transfer_us",
              [](const Shown& of) {
                return of.waits_apart ? std::optional(of.bucket.median) : std::nullopt;
              },
              "without that wait; null where ranks were not joined")
          .time(
              "predicted_us", [](const Shown& of) { return of.bucket.predicted; },
              "the transfer as predicted")
          .boolean(
              "inside", [](const Shown& of) { return is_inside(of.bucket, of.waits_apart); },
              "whether the prediction fits: within a tenth of the shortest and longest transfer, "
              "or where waits are not told apart at most the shortest");
  return described;
}

}  // namespace

const Described<ReportContext>& described_versions() {
  static const auto described =
      Described<ReportContext>("Versions", "the versions in force")
          .text(
              "torch", [](const ReportContext& of) { return to_string(of.job.options().torch); },
              "the PyTorch version whose rules held")
          .boolean(
              "torch_known", [](const ReportContext& of) { return of.provenance.torch_known; },
              "false where neither --torch nor the workload says which PyTorch it is")
          .text(
              "nccl",
              [](const ReportContext& of) {
                return backend_of(of.job.model()) == Backend::nccl
                           ? std::optional(to_string(nccl_version(of.job)))
                           : std::nullopt;
              },
              "the NCCL version whose rules held; null with gloo")
          .word(
              "backend", [](const ReportContext& of) { return backend_of(of.job.model()); },
              all_up_to(Backend::gloo), "the library of the process group")
          .one_of(
              "network", [](const ReportContext& of) { return network_name(of.job); },
              {"analytic", "flow"}, "how collectives were timed");
  return described;
}

const Described<ReportContext>& described_setting() {
  static const auto described =
      Described<ReportContext>("Setting", "what was asked")
          .text("workload", &workload_name, "what was asked")
          .text("cluster", &cluster_name, "what was asked")
          .integer(
              "ranks", [](const ReportContext& of) { return of.job.cluster().ranks(); },
              "GPUs of the job")
          .members_of(
              [](const ReportContext& of) -> const auto& { return of; }, described_versions())
          .number(
              "compute_scale",
              [](const ReportContext& of) { return of.job.options().compute_scale; },
              "compute is so many times as fast as recorded")
          .number(
              "rank_slowdown",
              [](const ReportContext& of) { return slowdown_shares(of.job).slowdown(); },
              "compute takes so many times as long as recorded, by the slowest GPU and multi-GPU "
              "overhead")
          .object(
              "variation",
              [](const ReportContext& of) {
                const RankVariation& variation = of.job.options().variation;
                return variation.empty() ? nullptr : &variation;
              },
              described_variation(), "how ranks differ. Only with --straggler, --jitter, --stagger",
              Absent::left_out)
          .members_of(
              [](const ReportContext& of) -> const auto& { return of.job.options().ddp(); },
              described_ddp())
          .text(
              "bucket_setting",
              [](const ReportContext& of) {
                return speaks_of_buckets(of) ? std::optional(bucket_setting(of.job)) : std::nullopt;
              },
              "the caps in force. Not under a scheme without DDP's reducer", Absent::left_out);
  return described;
}

const Described<PeakMemory>& described_memory() {
  static const auto described =
      Described<PeakMemory>("Memory", "what a rank's memory holds at most")
          .integer(
              "peak_bytes",
              [](const PeakMemory& of) {
                return of.activations ? std::optional(of.total()) : std::nullopt;
              },
              "all of it; null where activations are not known")
          .integer("at_least_bytes", &PeakMemory::total,
                   "the same, without activations that are not known")
          .word("at", &PeakMemory::at, all_up_to(PeakMoment::averaging),
                "when: in backward, while the optimizer steps, while DDP rebuilds its buckets, or "
                "while parameters are averaged")
          .integer("allocated_bytes", &PeakMemory::allocated,
                   "of it, what torch.cuda.max_memory_allocated() says: without segments and NCCL")
          .object(
              "parts", [](const PeakMemory& of) -> const auto& { return of; }, described_parts(),
              "at that moment, adding up to it")
          .integer("host_bytes", if_positive(&PeakMemory::host),
                   "what a rank has in its host's memory, no part of the peak. Only where a "
                   "scheme keeps shards there",
                   Absent::left_out)
          .one_of(
              "activations_from",
              [](const PeakMemory& of) {
                return of.activations
                           ? std::optional(of.activations->recorded ? "recording" : "layers")
                           : std::nullopt;
              },
              {"recording", "layers"}, "who says what activations take; null: nobody")
          .one_of(
              "optimizer", [](const PeakMemory& of) { return word_of(of.optimizer.kind); },
              [] {
                std::vector<std::string> words;
                for (const Optimizer one : all_up_to(Optimizer::adamw))
                  words.emplace_back(word_of(one));
                return words;
              }(),
              "as --optimizer takes it")
          .boolean(
              "optimizer_assumed", [](const PeakMemory& of) { return of.optimizer.assumed; },
              "whether nobody said which: momentum for models of images, else adam")
          .boolean(
              "master_weights", [](const PeakMemory& of) { return of.optimizer.master_weights; },
              "whether narrower parameters have copies in fp32");
  return described;
}

const Described<RecordedJob>& described_recorded() {
  static const auto described =
      Described<RecordedJob>("Recorded", "what the recorded job did, beside its prediction")
          .text("torch", unless_empty(&RecordedJob::torch),
                "the PyTorch version it was recorded with; null where not known")
          .text(
              "nccl",
              [](const RecordedJob& of) {
                return of.nccl ? std::optional(to_string(*of.nccl)) : std::nullopt;
              },
              "the NCCL version it was recorded with; null where not known")
          .integer("ranks", &RecordedJob::ranks, "GPUs of the recorded job")
          .boolean("comparable", &RecordedJob::comparable,
                   "whether it ran on as many GPUs of the same model")
          .boolean("same_buckets", &RecordedJob::same_buckets,
                   "whether its buckets are those of the options")
          .time("all_reduce_us", &RecordedJob::recorded, "all-reduces of a step, recorded")
          .time("predicted_us", &RecordedJob::predicted, "the same, predicted")
          .integer("steps", &RecordedJob::steps, "recorded steps with such all-reduces")
          .object("iteration_us", &RecordedJob::iterations, described_steps(),
                  "how the recorded steps vary; null of fewer than two")
          .integer("channels", &RecordedJob::channels, "of its all-reduces; 0 where not recorded")
          .integer("predicted_channels", &RecordedJob::predicted_channels,
                   "the same, predicted; 0 where nothing chooses them")
          .list("buckets", &shown_buckets, described_recorded_bucket(), "in launch order");
  return described;
}

}  // namespace ddpsim
