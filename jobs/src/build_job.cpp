#include "ddpsim/jobs/build_job.hpp"

#include <fmt/format.h>

#include <utility>

#include "batches.hpp"
#include "cluster_groups.hpp"
#include "collective_timing.hpp"
#include "consistency.hpp"
#include "ddpsim/jobs/collectives.hpp"
#include "ddpsim/jobs/compute_transfer.hpp"
#include "ddpsim/jobs/evidence_warnings.hpp"
#include "ddpsim/jobs/job_warnings.hpp"
#include "ddpsim/jobs/measured_step.hpp"
#include "ddpsim/jobs/replay.hpp"
#include "ddpsim/models/transfer.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/values/limits.hpp"
#include "ddpsim/topologies/host_copy.hpp"
#include "host_costs.hpp"
#include "memory_knowledge.hpp"
#include "rank_differences.hpp"
#include "scheme_types.hpp"
#include "versions_in_force.hpp"

namespace ddpsim {
namespace {

/// For --sync-batchnorm: finds out which parameters belong to batch norms.
void require_batch_norms(const JobRequest& request, Workload& workload) {
  if (!request.ddp.sync_batchnorm || workload.recorded_with.sync_batchnorm ||
      mark_batch_norms(workload))
    return;
  throw InputError(
      {.file = request.workload.source,
       .where = "/parameters",
       .message = "--sync-batchnorm: nothing says which parameters belong to batch norms, and "
                  "no bundled model has these shapes",
       .hint = "Mark the weight of each with \"batch_norm\": true, or leave out the "
               "option if there are none"});
}

/// Fills in host values for a scheme that keeps shards on the host, if they were not stated.
Scheme on_hosts(Scheme scheme, const ClusterRequest& request, const Cluster& cluster) {
  CpuOffload* offload = offload_of(scheme);
  if (offload == nullptr) return scheme;
  if (!offload->pcie) offload->pcie = host_copy_rate(load_topology(request)).value_or(kHostCopy);
  // A single rank keeps its threads; torchrun's config_from_args limits OpenMP only if it starts
  // several.
  if (offload->cpu_rate_assumed && cluster.gpus_per_host() == 1) offload->cpu_rate = kShareOfHost;
  return scheme;
}

SimulationOptions simulation_options(const JobRequest& request, const VersionsInForce& versions,
                                     const ComputeTransfer& compute, const Cluster& cluster) {
  SimulationOptions options;
  options.torch = versions.torch.version;
  options.accumulate = request.accumulate.value_or(compute.workload.recorded_with.accumulate);
  options.scheme = on_hosts(request.scheme.value_or(Ddp()), request.cluster, cluster);
  take_types_of_estimate(compute.workload, options.scheme);
  if (DdpOptions* ddp = ddp_options_of(options.scheme)) *ddp = request.ddp;
  options.possible_versions = versions.possible;
  options.interference = request.interference.value_or(Interference());
  set_host_costs(request.host, compute.workload.host_costs, cluster.gpu_costs, options);
  options.compute_scale = compute.scale.factor;
  options.compute_scale_range = compute.scale.range;
  if (const auto gpu = recorded_on(compute.workload)) options.recorded_sms = gpu->sms;
  set_rank_differences(request.variation, cluster, options);
  set_batches(request, compute.workload, cluster, options);
  options.iterations = request.iterations;
  return options;
}

/// Checks all options but the bucket cap; a search over caps checks each cap it tries.
void require_supported_but_for_caps(DdpOptions options, TorchVersion torch) {
  options.bucket_cap_mb.reset();
  require_supported(options, torch);
}

/// Adds what a reader should know before anything is simulated.
void warn(const JobRequest& request, const VersionsInForce& versions, const LoadedWorkload& loaded,
          const TimedCluster& timed, const ComputeTransfer& compute,
          const std::optional<std::string>& waits_left_out, BuiltJob& built) {
  const Job& job = built.job;
  Warnings& warnings = built.trust.warnings;
  const std::string& source = request.workload.source;
  if (!versions.torch.known && !job.workload().torch.empty())
    warnings.add(
        fmt::format("the workload's torch, \"{}\", is not a version; {} is assumed (--torch)",
                    job.workload().torch, to_string(versions.torch.version)));
  warnings.add(timed.warnings);
  if (loaded.unprofiled_step && !built.measured_step && source == request.cluster.text)
    warnings.add(fmt::format(
        "{} says that its step takes {:.6g} ms without the profiler; --measured-step "
        "{:.6g}ms predicts from that time",
        source, loaded.unprofiled_step->milliseconds(), loaded.unprofiled_step->milliseconds()));
  if (waits_left_out) warnings.add(*waits_left_out);
  if (auto warning = other_optimizer_warning(request.memory, job.workload()))
    warnings.add(*std::move(warning));
  warnings.add(archive_warnings(request.cluster.text, job.cluster()));
  warnings.add(loaded.warnings);
  if (loaded.ddp_log) warnings.add(warnings_in_workload(source));
  warnings.add(warnings_in_cluster(request.cluster.text));
  warnings.add(compute.warnings);
  if (Scheme stated = request.scheme.value_or(Ddp());
      take_types_of_estimate(job.workload(), stated))
    warnings.add(types_warning(stated));
  warnings.add(job_warnings(job, compute.scale));
  for (std::string& warning : decisive_warnings(job.cluster(), request.collectives.backend))
    warnings.overturn(std::move(warning));
}

}  // namespace

BuiltJob build_job(const JobRequest& request, std::optional<LoadedWorkload> read,
                   const ClusterReaders& readers) {
  require_consistent(request);
  LoadedWorkload loaded = read ? *std::move(read) : load_workload(request.workload);
  require_batch_norms(request, loaded.workload);
  Cluster described = cluster_with_groups(request, readers);
  const VersionsInForce versions = versions_in_force(request, loaded.workload, described);
  require_of_nccl(request, versions.nccl);
  const TimedCluster timed =
      timed_cluster(std::move(described), request.collectives, versions.nccl, loaded.workload);
  ComputeTransfer compute = transfer_compute(std::move(loaded.workload), request.workload.source,
                                             request.compute, timed.cluster);
  SimulationOptions options = simulation_options(request, versions, compute, timed.cluster);
  require_supported_but_for_caps(options.ddp(), options.torch);
  require_contiguous(compute.workload, request.workload.source, options.scheme);
  options.optimizer = know_memory(request.memory, compute.workload);
  CollectiveModel model = collective_model(timed, request, compute.workload, readers);

  BuiltJob built{
      .job = Job(std::move(compute.workload), timed.cluster, std::move(options), std::move(model)),
      .provenance = {.workload_source = request.workload.source,
                     .cluster_source = request.cluster.text,
                     .label = {},
                     .torch_known = versions.torch.known,
                     .scheme_asked = request.scheme.has_value(),
                     .calibrated_by_recording = timed.calibrated_by_recording},
      .trust = {},
      .measured_step = {},
      .memory = request.memory.limit};
  if (request.measured_step)
    built.measured_step = read_measured_step(*request.measured_step, samples_of_step(built.job),
                                             built.trust.warnings);
  built.provenance.recorded = recorded_job(built.job);
  if (const auto& recorded = built.provenance.recorded)
    built.job = as_recorded(built.job, *recorded);
  const std::optional<std::string> waits_left_out = without_recorded_waits(built);
  warn(request, versions, loaded, timed, compute, waits_left_out, built);
  return built;
}

void require_simulatable(const BuiltJob& built) {
  if (const auto problem = cannot_simulate(built.job))
    throw InputError(
        {.file = built.provenance.workload_source, .where = "", .message = *problem, .hint = ""});
}

void require_searchable(const BuiltJob& built, const std::string& instead) {
  const std::size_t parameters = built.job.workload().parameters.size();
  if (parameters > kMostTunedParameters)
    throw InputError(
        {.file = built.provenance.workload_source,
         .where = "/parameters",
         .message = fmt::format("has {} parameters, but a search over bucket caps is limited to {}",
                                parameters, kMostTunedParameters),
         .hint = instead});
}

}  // namespace ddpsim
