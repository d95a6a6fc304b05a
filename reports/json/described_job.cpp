#include "described_job.hpp"

#include "ddpsim/sim/step/compute_speed.hpp"
#include "ddpsim/traces/described_kept_by.hpp"
#include "job_words.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const Described<Straggler>& described_straggler() {
  static const auto described =
      Described<Straggler>("Straggler", "a rank that --straggler makes slower", Layout::line)
          .integer("rank", &Straggler::rank, "the rank")
          .number("slowdown", &Straggler::slowdown, "factor on the rank's compute time");
  return described;
}

const Described<RankVariation>& described_variation() {
  static const auto described =
      Described<RankVariation>("Variation", "how ranks differ")
          .list("stragglers", &RankVariation::stragglers, described_straggler(),
                "ranks that --straggler makes slower")
          .number("jitter", &RankVariation::jitter,
                  "standard deviation of each rank's compute time, as a share of it")
          .time("stagger_us", &RankVariation::stagger,
                "time over which the starts of ranks are staggered")
          .integer("seed", &RankVariation::seed, "the seed of the random numbers");
  return described;
}

/// Reads an option of a hook if the job uses that hook.
template <typename Read>
auto of_hook(CommHook hook, Read read) {
  return [hook, read](const DdpOptions& ddp) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Read, const DdpOptions&>>;
    return ddp.comm_hook == hook ? std::optional<Value>(read(ddp)) : std::nullopt;
  };
}

/// DDP's options other than caps that differ from the default.
const Described<DdpOptions>& described_ddp() {
  static const auto described =
      Described<DdpOptions>("DdpOptions", "DDP's options that differ from the defaults")
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
                  "least factor by which a matrix must become smaller to be compressed, as "
                  "powerSGD_hook takes it. Only with --comm-hook powersgd",
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
      Described<PeakMemory>("MemoryParts", "the parts of a rank's memory")
          .integer("parameters_bytes", part(&MemoryParts::parameters),
                   "bytes of the model's parameters")
          .integer("buffers_bytes", part(&MemoryParts::buffers), "bytes of the model's buffers")
          .integer("gradients_bytes", part(&MemoryParts::gradients),
                   "bytes of gradients outside the buckets")
          .integer("buckets_bytes", part(&MemoryParts::buckets), "bytes of DDP's buckets")
          .integer("comm_hook_bytes", part(&MemoryParts::hook),
                   "bytes of a communication hook: casts, powerSGD_hook's errors, P, Q and copies, "
                   "or the parameters that local SGD averages")
          .integer("optimizer_bytes", part(&MemoryParts::optimizer),
                   "bytes of the optimizer's state")
          .integer("temporaries_bytes", part(&MemoryParts::temporaries),
                   "bytes of the optimizer's temporaries, or of a gradient just written if the "
                   "workload does not state held_bytes")
          .integer("activations_bytes", part(&MemoryParts::activations),
                   "bytes of activations; null if not known")
          .integer("rounding_bytes", &PeakMemory::rounding,
                   "bytes that PyTorch's allocator adds by rounding sizes up")
          .integer("segments_bytes", &PeakMemory::segments,
                   "bytes that PyTorch's allocator reserves in whole segments beyond what is "
                   "allocated; with FSDP also what the reducing stream holds at other times")
          .integer("nccl_bytes", &PeakMemory::nccl, "bytes of NCCL's buffers with its defaults");
  return described;
}

/// A moment beside the peak that it belongs to, which knows what the allocator adds.
const Described<MemoryMoment>& described_moment() {
  static const auto described =
      Described<MemoryMoment>("MemoryMoment", "the largest memory within a part of the step",
                              Layout::line)
          .word("at", &MemoryMoment::at, all_up_to(PeakMoment::averaging),
                "the part of the step; `forward` is its end")
          .integer(
              "tensors_bytes", [](const MemoryMoment& of) { return of.parts.known(); },
              "bytes of all tensors, before the allocator rounds them up")
          .integer(
              "activations_bytes", [](const MemoryMoment& of) { return of.parts.activations; },
              "bytes of activations and of their gradients; null if not known")
          .integer(
              "gradients_bytes", [](const MemoryMoment& of) { return of.parts.gradients; },
              "bytes of gradients outside the buckets")
          .integer(
              "temporaries_bytes", [](const MemoryMoment& of) { return of.parts.temporaries; },
              "bytes of the optimizer's temporaries");
  return described;
}

}  // namespace

const Described<ReportContext>& described_versions() {
  static const auto described =
      Described<ReportContext>("Versions", "the versions that are simulated")
          .text(
              "torch", [](const ReportContext& of) { return to_string(of.job.options().torch); },
              "the PyTorch version that is simulated")
          .boolean(
              "torch_known", [](const ReportContext& of) { return of.provenance.torch_known; },
              "whether --torch or the workload states the PyTorch version; if false, torch is an "
              "assumption")
          .text(
              "nccl",
              [](const ReportContext& of) {
                return backend_of(of.job.model()) == Backend::nccl
                           ? std::optional(to_string(nccl_version(of.job)))
                           : std::nullopt;
              },
              "the NCCL version that is simulated; null with gloo")
          .word(
              "backend", [](const ReportContext& of) { return backend_of(of.job.model()); },
              all_up_to(Backend::gloo), "the library of the process group")
          .one_of(
              "network", [](const ReportContext& of) { return network_name(of.job); },
              {"analytic", "flow"}, "the network model that times collectives");
  return described;
}

const Described<ReportContext>& described_setting() {
  static const auto described =
      Described<ReportContext>("Setting", "the job that was asked for")
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
              "how many times as fast as recorded the job computes")
          .number(
              "rank_slowdown",
              [](const ReportContext& of) { return slowdown_shares(of.job).slowdown(); },
              "factor on the recorded compute time, from the slowest GPU and multi-GPU overhead")
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
              "the bucket setting in words. Only with a scheme that uses DDP's reducer",
              Absent::left_out);
  return described;
}

const Described<PeakMemory>& described_memory() {
  static const auto described =
      Described<PeakMemory>("Memory", "the peak memory of a rank")
          .integer(
              "peak_bytes",
              [](const PeakMemory& of) {
                return of.activations ? std::optional(of.total()) : std::nullopt;
              },
              "peak memory of a rank, in bytes; null if activations are not known")
          .integer("at_least_bytes", &PeakMemory::total,
                   "peak memory of a rank, in bytes, without activations if they are not known")
          .word("at", &PeakMemory::at, all_up_to(PeakMoment::averaging),
                "when the peak occurs: in backward, while the optimizer steps, while DDP rebuilds "
                "its buckets, or while local SGD averages parameters")
          .integer("allocated_bytes", &PeakMemory::allocated,
                   "bytes that torch.cuda.max_memory_allocated() would report: the peak without "
                   "segments_bytes and nccl_bytes")
          .object(
              "parts", [](const PeakMemory& of) -> const auto& { return of; }, described_parts(),
              "the parts of the peak; those that are known add up to at_least_bytes")
          .list("moments", &PeakMemory::moments, described_moment(),
                "memory over the step, in its order")
          .list(
              "activations_by",
              [](const PeakMemory& of) {
                return of.activations && !of.activations->by.empty() ? &of.activations->by
                                                                     : nullptr;
              },
              described_kept_by(),
              "who keeps one per cent of the activations and more at the end of forward, the "
              "largest first. Only if they are computed from the model's layers",
              Absent::left_out)
          .integer("host_bytes", if_positive(&PeakMemory::host),
                   "bytes of a rank in its host's memory, which the peak does not include. Only if "
                   "a scheme keeps shards there",
                   Absent::left_out)
          .one_of(
              "activations_from",
              [](const PeakMemory& of) {
                return of.activations
                           ? std::optional(of.activations->recorded ? "recording" : "layers")
                           : std::nullopt;
              },
              {"recording", "layers"},
              "the source of activations_bytes: the recording or the model's layers; null if there "
              "is none")
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
              "whether the optimizer is an assumption: momentum for image models, else adam")
          .boolean(
              "master_weights", [](const PeakMemory& of) { return of.optimizer.master_weights; },
              "whether parameters narrower than fp32 have copies in fp32 (--master-weights)");
  return described;
}

}  // namespace ddpsim
