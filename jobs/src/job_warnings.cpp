#include "ddpsim/jobs/job_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "ddpsim/jobs/collectives.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"
#include "ddpsim/sim/ddp/scheme_notes.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/values/reduced_by.hpp"
#include "rank_warnings.hpp"

namespace ddpsim {
namespace {

/// From here on, a number of MiB is probably meant in bytes: it would be a terabyte, or is a
/// megabyte.
constexpr double kLikeBytes = 1e6;

/// Counts gradients that the host reached only after the GPU had written them. The GPU waits for
/// the host there.
std::size_t gradients_behind_host(const Workload& workload) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < workload.host_ready.size(); ++k)
    if (workload.host_ready[k] >= workload.backward->ready[k].at) ++count;
  return count;
}

/// Sizes of the buckets; empty for a job that will be refused anyway.
std::vector<Bytes> bucket_sizes(const Job& job) {
  return cannot_simulate(job) ? std::vector<Bytes>() : all_reduce_sizes(job);
}

/// What the recording leaves open.
std::vector<std::string> recording_warnings(const Workload& workload, const ComputeScale& scale) {
  std::vector<std::string> warnings;
  if (workload.parameter_order == ParameterOrder::assumed)
    warnings.emplace_back(
        "the order of parameters is assumed, not recorded: construction buckets may differ");
  if (const RecordedWith& with = workload.recorded_with;
      workload.ranks.empty() && with.several_ranks() && with.nccl_kernels > 0)
    warnings.push_back(
        fmt::format("recorded on one of {}: waits for the others cannot be told from transfers",
                    with.world_size > 0 ? fmt::format("{} ranks", with.world_size)
                                        : std::string("several ranks, their number unknown")));
  if (const std::int64_t compiled = workload.recorded_with.compiled_gradients; compiled > 0)
    warnings.push_back(fmt::format(
        "compiled backward: {} of {} gradients became ready together when one compiled "
        "node ended. PyTorch cuts a compiled graph at bucket boundaries, so other "
        "buckets would have moved the cuts. Read the result only for the recorded buckets",
        compiled, workload.backward ? workload.backward->ready.size() : 0));
  if (const std::string_view caller = caller_of(workload.recorded_with.reduced_by); !caller.empty())
    warnings.push_back(
        fmt::format("{} all-reduced the recorded gradients, not DDP's reducer, so PyTorch's "
                    "bucketing is not how this job ran. DDP is simulated instead",
                    caller));
  const std::size_t behind = gradients_behind_host(workload);
  if (2 * behind > workload.host_ready.size())
    warnings.push_back(fmt::format(
        "the recording is bound by the host ({} of {} gradients waited for it), often "
        "because of the profiler. Without it a step is likely shorter: time one and pass "
        "--measured-step, or use --timing compacted, in which the host is never late",
        behind, workload.host_ready.size()));
  if (scale.factor != 1 && 2 * behind > workload.host_ready.size())
    warnings.emplace_back(
        "compute is scaled as a whole, but a recording bound by the host hardly gets faster on "
        "another GPU");
  return warnings;
}

std::vector<std::string> sync_batchnorm_warnings(const Job& job) {
  const bool asked = job.options().ddp().sync_batchnorm;
  if (job.workload().recorded_with.sync_batchnorm)
    return {
        fmt::format("recorded with SyncBatchNorm: its exchanges stay in forward and backward as "
                    "recorded, on any cluster{}",
                    asked ? ", and --sync-batchnorm adds nothing" : "")};
  if (!asked) return {};
  if (std::ranges::none_of(job.workload().parameters, &Parameter::batch_norm))
    return {"this model has no batch norm, so --sync-batchnorm changes nothing"};
  return {
      "SyncBatchNorm counts the exchanges of its layers, the host's reads and their own kernels. "
      "Six published trainings on unnamed GPUs lost 1.7 times as much in the median"};
}

/// What hindered the job while it was recorded. The recorded times include it, so a reader must
/// know.
std::vector<std::string> hindrance_warnings(const Workload& workload, int accumulate) {
  // Share of a step.
  constexpr double kMuch = 0.05;
  std::vector<std::string> warnings;
  if (workload.earlier && workload.earlier->all_reduced > 0) {
    // One line, because the page has room for only one.
    warnings.push_back(fmt::format(
        "{} micro-batches a step all-reduced, not 1: no_sync() must also cover forward ({})",
        workload.earlier->all_reduced + 1,
        accumulate > 1 ? "simulated so" : fmt::format("--accumulate {}", micro_batches(workload))));
  }
  const auto take = [&](const std::string& whose, const Recorded& recorded) {
    if (!recorded.threads || !recorded.iteration) return;
    const Duration waiting = recorded.threads->waiting;
    if (waiting < recorded.iteration->scaled(kMuch)) return;
    warnings.push_back(
        fmt::format("recorded{} while others used its core: {:.0f} % of each step, {:.3g} ms, was "
                    "spent waiting for it",
                    whose, 100 * (waiting / *recorded.iteration), waiting.milliseconds()));
  };
  if (workload.ranks.empty()) take("", workload);
  for (const RankRecording& rank : workload.ranks)
    take(fmt::format(" on rank {}", rank.rank), rank);
  return warnings;
}

/// Warnings about DDP's options, compared with the recording and the backend.
std::vector<std::string> option_warnings(const Job& job, Backend backend) {
  std::vector<std::string> warnings;
  const DdpOptions& ddp = job.options().ddp();
  if (const auto wire = job.workload().recorded_with.wire;
      wire && wire_dtype(ddp, Dtype::float32) != *wire)
    warnings.push_back(fmt::format(
        "recorded under a compression hook (all-reduces of {}), simulated without it: its casts "
        "stay in the recorded backward. Pass --comm-hook {} to simulate it as it ran",
        name_of(*wire), *wire == Dtype::bfloat16 ? "bf16" : "fp16"));
  if (const int recorded = job.workload().recorded_with.accumulate; recorded > 1)
    warnings.push_back(
        fmt::format("recorded with gradient accumulation, {} micro-batches a step: {}", recorded,
                    job.options().accumulate == recorded
                        ? "simulated as recorded (--accumulate)"
                        : fmt::format("simulated with --accumulate {}", job.options().accumulate)));
  if (backend == Backend::gloo && ddp.comm_hook == CommHook::bf16_compress)
    warnings.emplace_back(
        "gloo refuses bfloat16 in PyTorch 1.13 and many later versions (\"Invalid scalar type\"). "
        "Try it before you rely on it");
  if (ddp.comm_hook == CommHook::post_local_sgd && job.options().variation.jitter > 0)
    warnings.emplace_back(
        "--jitter: nodes of local SGD wait for each other only when they average. Here every step "
        "waits for the slowest of all ranks, which is an upper bound");
  for (std::string& warning : sync_batchnorm_warnings(job)) warnings.push_back(std::move(warning));
  if (ddp.broadcast_buffers && uses_reducer(job.options().scheme))
    for (const auto& [key, text] : job.workload().provenance)
      if (key == kBuffersMark)
        warnings.push_back(fmt::format(
            "buffers {}: broadcast before each forward, unless you pass --no-broadcast-buffers",
            text));
  for (std::string& warning : ddp_warnings(ddp, job.options().torch))
    warnings.push_back(std::move(warning));
  return warnings;
}

}  // namespace

std::vector<std::string> ddp_warnings(const DdpOptions& options, TorchVersion torch) {
  std::vector<std::string> warnings;
  if (torch > kNewestTorch)
    warnings.push_back(
        fmt::format("PyTorch {} is newer than the rules known here ({}); those are used",
                    to_string(torch), to_string(kNewestTorch)));
  const auto check = [&](const char* option, double mib) {
    if (mib < kLikeBytes) return;
    warnings.push_back(
        fmt::format("{} {} is in MiB, so {:.3g} TiB; did you mean bytes, {:.4g} MiB?", option, mib,
                    mib / 1048576, mib / 1048576));
  };
  if (options.bucket_cap_mb) check("--bucket-cap-mb", *options.bucket_cap_mb);
  if (options.first_bucket_mb) check("--first-bucket-mb", *options.first_bucket_mb);
  for (const double cap : options.bucket_cap_mb_list) check("--bucket-cap-mb-list", cap);
  return warnings;
}

std::vector<std::string> job_warnings(const Job& job, const ComputeScale& scale) {
  std::vector<std::string> warnings = hindrance_warnings(job.workload(), job.options().accumulate);
  const auto add = [&](std::vector<std::string> further) {
    for (std::string& warning : further) warnings.push_back(std::move(warning));
  };
  add(recording_warnings(job.workload(), scale));
  // Warnings about the cluster here concern NCCL.
  if (const GlooModel* gloo = std::get_if<GlooModel>(&job.model())) {
    if (job.workload().gpu == "CPU" && !gloo->links.host_tensors)
      add(
          {"recorded on a CPU, but its gradients are assumed to be on a GPU and copied to the "
           "host. "
           "--gloo tensors:host leaves them on the host"});
  } else if (const AnalyticModel* nccl = nccl_of(job.model())) {
    add(cluster_warnings(job.cluster(), nccl->tuning, bucket_sizes(job)));
    add(nccl_warnings(nccl->tuning));
  }
  add(rank_warnings(job.workload(), job.cluster()));
  if (const std::string numerics = changed_numerics(job); !numerics.empty())
    add(
        {fmt::format("{}: a step learns differently from a step of DDP. How many more steps a "
                     "training needs is not predicted",
                     numerics)});
  add(option_warnings(job, backend_of(job.model())));
  add(rests_on(job));
  return warnings;
}

std::string why_no_cap(const Job& job) {
  const Workload& workload = job.workload();
  if (!uses_reducer(job.options().scheme))
    return fmt::format("--scheme {} has no buckets of DDP", name_of(job.options().scheme));
  if (stops_backward(job.options().ddp().comm_hook) &&
      std::holds_alternative<GlooModel>(job.model()))
    return "gloo runs powerSGD_hook only with a single bucket, and this job has one";
  if (workload.recorded_with.compiled_gradients > 0)
    return "the backward was compiled: its gradients become ready together where torch.compile cut "
           "the graph, and another cap would have cut it elsewhere. Record one step for each cap "
           "that "
           "you consider";
  const std::string_view caller = caller_of(workload.recorded_with.reduced_by);
  if (caller.empty()) return "";
  return fmt::format(
      "{} all-reduced the recorded gradients, not DDP's reducer, so no bucket cap was used; "
      "record the job under DDP",
      caller);
}

}  // namespace ddpsim
