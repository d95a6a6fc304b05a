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

/// From here on a number of MiB is more likely one of bytes: a terabyte, or a megabyte.
constexpr double kLikeBytes = 1e6;

/// Gradients the host reached only after the GPU had written them: there the GPU waits for the
/// host.
std::size_t gradients_behind_host(const Workload& workload) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < workload.host_ready.size(); ++k)
    if (workload.host_ready[k] >= workload.backward->ready[k].at) ++count;
  return count;
}

/// None of a job that will be refused anyway.
std::vector<Bytes> bucket_sizes(const Job& job) {
  return cannot_simulate(job) ? std::vector<Bytes>() : all_reduce_sizes(job);
}

/// Of the recording: what it leaves open.
std::vector<std::string> recording_warnings(const Workload& workload, const ComputeScale& scale) {
  std::vector<std::string> warnings;
  if (workload.parameter_order == ParameterOrder::assumed)
    warnings.emplace_back(
        "the order of parameters is assumed, not recorded: construction buckets may differ");
  if (const RecordedWith& with = workload.recorded_with;
      workload.ranks.empty() && with.several_ranks() && with.nccl_kernels > 0)
    warnings.push_back(fmt::format(
        "recorded on one of {}: waits for the others cannot be told from transfers",
        with.world_size > 0 ? fmt::format("{} ranks", with.world_size)
                            : std::string("several ranks, and of how many is not known")));
  if (const std::int64_t compiled = workload.recorded_with.compiled_gradients; compiled > 0)
    warnings.push_back(
        fmt::format("compiled backward: {} of {} gradients came out of one compiled node together, "
                    "when it had ended; torch.compile cuts its graph where buckets end, so other "
                    "buckets would have moved them: read the result for the recorded buckets only",
                    compiled, workload.backward ? workload.backward->ready.size() : 0));
  if (const std::string_view caller = caller_of(workload.recorded_with.reduced_by); !caller.empty())
    warnings.push_back(
        fmt::format("not DDP's reducer but {} all-reduced the recorded gradients: PyTorch's "
                    "bucketing is not how this job ran; DDP is simulated in its place",
                    caller));
  const std::size_t behind = gradients_behind_host(workload);
  if (2 * behind > workload.host_ready.size())
    warnings.push_back(
        fmt::format("the recording is bound by the host ({} of {} gradients waited for it), which "
                    "a profiler often causes: without it a step is likely shorter; time one and "
                    "pass --measured-step (--timing compacted takes the host never to be late)",
                    behind, workload.host_ready.size()));
  if (scale.factor != 1 && 2 * behind > workload.host_ready.size())
    warnings.emplace_back(
        "compute is scaled as a whole, but a recording bound by the host hardly gets faster with "
        "another GPU");
  return warnings;
}

std::vector<std::string> sync_batchnorm_warnings(const Job& job) {
  const bool asked = job.options().ddp().sync_batchnorm;
  if (job.workload().recorded_with.sync_batchnorm)
    return {
        fmt::format("recorded with SyncBatchNorm: what it exchanged stays in forward and backward "
                    "as it ran, on whatever cluster{}",
                    asked ? ", and --sync-batchnorm adds nothing" : "")};
  if (!asked) return {};
  if (std::ranges::none_of(job.workload().parameters, &Parameter::batch_norm))
    return {"there is no batch norm in this model: --sync-batchnorm changes nothing"};
  return {
      "SyncBatchNorm counts its layers' exchanges, the host's reads and their own kernels; six "
      "published trainings, their GPUs not named, lost 1.7 times as much in the median"};
}

/// What stood in the job's way while it was recorded: its times hold it, and a reader who does not know is misled.
std::vector<std::string> hindrance_warnings(const Workload& workload, int accumulate) {
  constexpr double kMuch = 0.05;  // of a step
  std::vector<std::string> warnings;
  if (workload.earlier && workload.earlier->all_reduced > 0) {
    // One line, which the page has room for.
    warnings.push_back(fmt::format(
        "{} micro-batches a step all-reduced, not 1: no_sync() has to hold forward ({})",
        workload.earlier->all_reduced + 1,
        accumulate > 1 ? "simulated so" : fmt::format("--accumulate {}", micro_batches(workload))));
  }
  const auto take = [&](const std::string& whose, const Recorded& recorded) {
    if (!recorded.threads || !recorded.iteration) return;
    const Duration waiting = recorded.threads->waiting;
    if (waiting < recorded.iteration->scaled(kMuch)) return;
    warnings.push_back(
        fmt::format("recorded{} while others used its core: of each step {:.0f} %, {:.3g} ms, is "
                    "waiting for it",
                    whose, 100 * (waiting / *recorded.iteration), waiting.milliseconds()));
  };
  if (workload.ranks.empty()) take("", workload);
  for (const RankRecording& rank : workload.ranks)
    take(fmt::format(" on rank {}", rank.rank), rank);
  return warnings;
}

/// Of DDP's options, beside what was recorded and what sends.
std::vector<std::string> option_warnings(const Job& job, Backend backend) {
  std::vector<std::string> warnings;
  const DdpOptions& ddp = job.options().ddp();
  if (const auto wire = job.workload().recorded_with.wire;
      wire && wire_dtype(ddp, Dtype::float32) != *wire)
    warnings.push_back(fmt::format(
        "recorded under a compression hook (all-reduces of {}), simulated without it: its casts "
        "stay in the recorded backward; --comm-hook {} simulates it as it ran",
        name_of(*wire), *wire == Dtype::bfloat16 ? "bf16" : "fp16"));
  if (const int recorded = job.workload().recorded_with.accumulate; recorded > 1)
    warnings.push_back(
        fmt::format("recorded with gradient accumulation, {} micro-batches a step: {}", recorded,
                    job.options().accumulate == recorded
                        ? "simulated as recorded (--accumulate)"
                        : fmt::format("simulated with --accumulate {}", job.options().accumulate)));
  if (backend == Backend::gloo && ddp.comm_hook == CommHook::bf16_compress)
    warnings.emplace_back(
        "gloo refuses bfloat16 in PyTorch 1.13 and many versions after (\"Invalid scalar type\"); "
        "try it before you count on it");
  if (ddp.comm_hook == CommHook::post_local_sgd && job.options().variation.jitter > 0)
    warnings.emplace_back(
        "--jitter: nodes of local SGD wait for each other only when they average; here every step "
        "waits for the slowest of all ranks, which is an upper bound");
  for (std::string& warning : sync_batchnorm_warnings(job)) warnings.push_back(std::move(warning));
  if (ddp.broadcast_buffers && uses_reducer(job.options().scheme))
    for (const auto& [key, text] : job.workload().provenance)
      if (key == kBuffersMark)
        warnings.push_back(fmt::format(
            "buffers {}: broadcast in front of each forward, unless with --no-broadcast-buffers",
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
    warnings.push_back(fmt::format("{} {} are MiB, {:.3g} TiB: were bytes meant, {:.4g} MiB?",
                                   option, mib, mib / 1048576, mib / 1048576));
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
  // What is said of a cluster here concerns NCCL.
  if (const GlooModel* gloo = std::get_if<GlooModel>(&job.model())) {
    if (job.workload().gpu == "CPU" && !gloo->links.host_tensors)
      add(
          {"recorded on a CPU, but its gradients are taken to be on a GPU and copied to the host: "
           "--gloo tensors:host leaves them there"});
  } else if (const AnalyticModel* nccl = nccl_of(job.model())) {
    add(cluster_warnings(job.cluster(), nccl->tuning, bucket_sizes(job)));
    add(nccl_warnings(nccl->tuning));
  }
  add(rank_warnings(job.workload(), job.cluster()));
  if (const std::string numerics = changed_numerics(job); !numerics.empty())
    add(
        {fmt::format("{}: a step does not teach what a step of DDP does, and how many more of them "
                     "a training needs is not predicted",
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
    return "gloo runs powerSGD_hook with one bucket alone, and this job has one";
  if (workload.recorded_with.compiled_gradients > 0)
    return "the backward was compiled: its gradients are ready together, where torch.compile cut "
           "the graph, and with another cap it would have cut elsewhere; record one step for each "
           "cap you consider";
  const std::string_view caller = caller_of(workload.recorded_with.reduced_by);
  if (caller.empty()) return "";
  return fmt::format(
      "not DDP's reducer but {} all-reduced the recorded gradients, so no bucket cap was in force; "
      "record the job under DDP",
      caller);
}

}  // namespace ddpsim
