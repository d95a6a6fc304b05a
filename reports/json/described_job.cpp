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
          .number("slowdown", &Straggler::slowdown,
                  "how many times as long the rank's compute takes");
  return described;
}

const Described<RankVariation>& described_variation() {
  static const auto described =
      Described<RankVariation>("Variation", "how ranks differ")
          .list("stragglers", &RankVariation::stragglers, described_straggler(),
                "ranks that were given as slower")
          .number("jitter", &RankVariation::jitter, "the share by which ranks' compute varies")
          .time("stagger_us", &RankVariation::stagger, "how far apart ranks start")
          .integer("seed", &RankVariation::seed, "the seed of all draws");
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
              "the smallest bucket that the communication hook compresses, in MiB; smaller ones "
              "are all-reduced as they are. Only with --comm-hook-min-mb",
              Absent::left_out)
          .integer(
              "matrix_approximation_rank",
              of_hook(CommHook::power_sgd,
                      [](const DdpOptions& of) { return of.power_sgd.matrix_approximation_rank; }),
              "the rank of the matrices P and Q, as powerSGD_hook takes it. Only with --comm-hook "
              "powersgd",
              Absent::left_out)
          .number("min_compression_rate",
                  of_hook(CommHook::power_sgd,
                          [](const DdpOptions& of) { return of.power_sgd.min_compression_rate; }),
                  "how much smaller a matrix must become to be compressed, as powerSGD_hook takes "
                  "it. Only with --comm-hook powersgd",
                  Absent::left_out)
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
                  "where gradients are all-reduced: within each node, or nowhere. Only with "
                  "--comm-hook post_localSGD",
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
          .integer("parameters_bytes", part(&MemoryParts::parameters), "the model's parameters")
          .integer("buffers_bytes", part(&MemoryParts::buffers), "the model's buffers")
          .integer("gradients_bytes", part(&MemoryParts::gradients),
                   "gradients that lie beside the buckets")
          .integer("buckets_bytes", part(&MemoryParts::buckets), "DDP's buckets")
          .integer("comm_hook_bytes", part(&MemoryParts::hook),
                   "a communication hook's casts; powerSGD_hook's errors, P, Q and, while it "
                   "reduces a bucket, copies; what local SGD averages next")
          .integer("optimizer_bytes", part(&MemoryParts::optimizer), "the optimizer's state")
          .integer("temporaries_bytes", part(&MemoryParts::temporaries),
                   "the optimizer's temporaries, or a gradient just written where the workload "
                   "does not say held_bytes")
          .integer("activations_bytes", part(&MemoryParts::activations),
                   "activations; null where not known")
          .integer("rounding_bytes", &PeakMemory::rounding,
                   "what PyTorch's allocator adds by rounding sizes up")
          .integer("segments_bytes", &PeakMemory::segments,
                   "what PyTorch's allocator reserves beyond what is allocated, in whole segments; "
                   "under FSDP also what the reducing stream holds at another moment")
          .integer("nccl_bytes", &PeakMemory::nccl, "NCCL's buffers, by its defaults");
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
              "whether --torch or the workload says which PyTorch version it is; false: the one in "
              "torch is assumed")
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
          .text("workload", &workload_name, "the workload that is trained")
          .text("cluster", &cluster_name, "the cluster that the job runs on")
          .integer(
              "ranks", [](const ReportContext& of) { return of.job.cluster().ranks(); },
              "GPUs of the job")
          .members_of(
              [](const ReportContext& of) -> const auto& { return of; }, described_versions())
          .number(
              "compute_scale",
              [](const ReportContext& of) { return of.job.options().compute_scale; },
              "how many times as fast as recorded compute is")
          .number(
              "rank_slowdown",
              [](const ReportContext& of) { return slowdown_shares(of.job).slowdown(); },
              "how many times as long as recorded compute takes, by the slowest GPU and multi-GPU "
              "overhead")
          .object(
              "variation",
              [](const ReportContext& of) {
                const RankVariation& variation = of.job.options().variation;
                return variation.empty() ? nullptr : &variation;
              },
              described_variation(),
              "how ranks differ. Only with --straggler, --jitter or --stagger", Absent::left_out)
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
              "what a rank's memory holds at most; null where activations are not known")
          .integer("at_least_bytes", &PeakMemory::total,
                   "what a rank's memory holds at its peak, without activations where they are not "
                   "known")
          .word("at", &PeakMemory::at, all_up_to(PeakMoment::averaging),
                "when the peak is: in backward, while the optimizer steps, while DDP rebuilds its "
                "buckets, or while local SGD averages parameters")
          .integer("allocated_bytes", &PeakMemory::allocated,
                   "what torch.cuda.max_memory_allocated() says: the peak without segments_bytes "
                   "and nccl_bytes")
          .object(
              "parts", [](const PeakMemory& of) -> const auto& { return of; }, described_parts(),
              "what the memory holds at its peak; the parts that are known add up to "
              "at_least_bytes")
          .integer("host_bytes", if_positive(&PeakMemory::host),
                   "what a rank holds in its host's memory, no part of the peak. Only where a "
                   "scheme keeps shards there",
                   Absent::left_out)
          .one_of(
              "activations_from",
              [](const PeakMemory& of) {
                return of.activations
                           ? std::optional(of.activations->recorded ? "recording" : "layers")
                           : std::nullopt;
              },
              {"recording", "layers"},
              "what tells how much activations take: the recording, or the model's layers; null: "
              "nothing")
          .one_of(
              "optimizer", [](const PeakMemory& of) { return word_of(of.optimizer.kind); },
              [] {
                std::vector<std::string> words;
                for (const Optimizer one : all_up_to(Optimizer::adamw))
                  words.emplace_back(word_of(one));
                return words;
              }(),
              "the optimizer, as --optimizer takes it")
          .boolean(
              "optimizer_assumed", [](const PeakMemory& of) { return of.optimizer.assumed; },
              "whether the optimizer is assumed, as nothing names it: momentum for models of "
              "images, else adam")
          .boolean(
              "master_weights", [](const PeakMemory& of) { return of.optimizer.master_weights; },
              "whether parameters narrower than fp32 have copies in fp32 (--master-weights)");
  return described;
}

}  // namespace ddpsim
