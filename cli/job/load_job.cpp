#include "load_job.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cluster_arguments.hpp"
#include "data_loader_arguments.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/compute_transfer.hpp"
#include "ddpsim/jobs/evidence_warnings.hpp"
#include "ddpsim/jobs/measured_step.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/models/transfer.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/limits.hpp"
#include "ddpsim/topologies/background_file.hpp"
#include "ddpsim/topologies/host_copy.hpp"
#include "interference_arguments.hpp"
#include "job_warnings.hpp"
#include "recording_calibration.hpp"
#include "scheme_arguments.hpp"

namespace ddpsim {
namespace {

/// What the command line says, under the versions in force.
struct ReadOptions {
  SimulationOptions options;  ///< but for what depends on workload and cluster
  CollectiveTuning tuning;
  GlooLinks gloo;
};

bool over_flow(const JobArguments& arguments) {
  return arguments.network == "flow";
}

/// Options that do not go together.
void require_consistent(const JobArguments& arguments, const TypedLine& typed) {
  if (arguments.scheme) require_of_scheme(parse_scheme(*arguments.scheme), arguments.ddp);
  if (arguments.data_loader) {
    parse_data_loader(*arguments.data_loader);
    if (arguments.measured_step)
      throw UsageError(
          "--data-loader: what a replay misses of --measured-step is put down to compute and "
          "communication, and of a step that waits for data to neither; leave one out");
  }
  require_of_epoch(arguments.epoch, arguments.ddp, arguments.scheme);
  if (arguments.background && !over_flow(arguments))
    throw UsageError("--background: only --network flow knows of other traffic; add it");
  require_one_backend(arguments.backend, typed, over_flow(arguments));
  if (arguments.backend.backend == Backend::gloo && arguments.interference)
    throw UsageError(
        "--interference: it is of NCCL's kernels, which --backend gloo does not use; leave it out");
  if (arguments.backend.backend == Backend::gloo && arguments.host.cuda_graph)
    throw UsageError(
        "--cuda-graph: a graph cannot hold collectives of --backend gloo; leave one out");
  if (arguments.backend.backend == Backend::gloo && arguments.ddp.sync_batchnorm)
    throw UsageError(
        "--sync-batchnorm: its layers exchange over NCCL, which --backend gloo does not use; leave "
        "one out");
}

ReadOptions read_options(const JobArguments& arguments, TorchVersion torch,
                         const RecordedWith& recorded = {}) {
  ReadOptions asked;
  SimulationOptions& options = asked.options;
  options.ddp = ddp_options(arguments.ddp, torch);
  if (arguments.scheme) options.scheme = parse_scheme(*arguments.scheme);
  options.ddp.accumulate = arguments.ddp.accumulate.value_or(recorded.accumulate);
  if (over_flow(arguments) && options.ddp.process_groups > 1)
    throw UsageError(
        "--process-groups: --network flow runs one collective at a time; leave one out");
  if (over_flow(arguments) && options.ddp.comm_hook == CommHook::post_local_sgd)
    throw UsageError(
        "--comm-hook post_localSGD: it reduces within nodes, and --network flow knows collectives "
        "of all ranks alone; leave one out");
  if (over_flow(arguments) && options.ddp.sync_batchnorm_group)
    throw UsageError(
        "--sync-batchnorm-group: --network flow knows collectives of all ranks alone; leave one "
        "out");
  options.interference = read_interference(arguments.interference);
  set_host_costs(arguments.host, options);
  options.iterations = arguments.iterations;
  asked.gloo = gloo_links(arguments.backend);
  asked.tuning = collective_tuning(arguments.cluster, recorded.nccl.value_or(bundled_nccl(torch)));
  require_version("--comm-hook bf16",
                  options.ddp.comm_hook == CommHook::bf16_compress &&
                      arguments.backend.backend == Backend::nccl,
                  asked.tuning, {2, 10, 0});
  const bool gloo = arguments.backend.backend == Backend::gloo;
  if (options.ddp.optimizer_in_backward && gloo && asked.gloo.host_tensors)
    throw UsageError(
        "--apply-optimizer-in-backward: DDP's hook takes streams of an accelerator and fails on "
        "tensors of the host (tried with PyTorch 2.13); leave one out");
  if (arguments.compute_scale) parse_compute_scale(*arguments.compute_scale);
  return asked;
}

/// Of --sync-batchnorm-group.
Cluster with_group(Cluster cluster, ClusterRequest request, int ranks,
                   const ClusterReaders& readers) {
  const int of_node = cluster.gpus_per_node;
  if (ranks % of_node != 0 || cluster.ranks() % ranks != 0)
    throw UsageError(fmt::format(
        "--sync-batchnorm-group {}: groups hold whole nodes, and {} has {} of {} GPUs: a multiple "
        "of {} that divides {} is needed",
        ranks, cluster.name, cluster.nodes, of_node, of_node, cluster.ranks()));
  if (ranks == of_node) return cluster;
  request.groups.push_back({ranks / of_node});
  return readers.cluster(request);
}

/// Of --scheme: its process groups, and those of ranks that hold the same shard.
Cluster with_groups(Cluster cluster, ClusterRequest& request, const Scheme& scheme,
                    const ClusterReaders& readers) {
  const int of_node = cluster.gpus_per_node;
  const std::vector<int> groups = groups_of(scheme, cluster.gpus_per_host());
  if (groups.empty()) return cluster;
  for (const int ranks : groups) {
    if (ranks < of_node) {
      request.groups.push_back({1, ranks});
      request.groups.push_back({cluster.nodes, std::max(of_node / ranks, 1)});
    } else {
      const int nodes = std::max(ranks / of_node, 1);
      request.groups.push_back({nodes});
      request.groups.push_back({std::max(cluster.nodes / nodes, 1), 1});
    }
  }
  return readers.cluster(request);
}

/// Of --sync-batchnorm: which parameters are batch norms'.
void require_batch_norms(const JobArguments& arguments, Workload& workload) {
  if (!arguments.ddp.sync_batchnorm || workload.recorded_with.sync_batchnorm ||
      mark_batch_norms(workload))
    return;
  throw InputError({.file = arguments.workload,
                    .where = "/parameters",
                    .message =
                        "--sync-batchnorm: nothing says which parameters are batch norms', and "
                        "no bundled model has these shapes",
                    .hint = "Mark the weight of each with \"batch_norm\": true, or leave the "
                            "option out where there are none"});
}

/// The workload becomes what the cluster's GPU makes of it.
ComputeTransfer carry_over(Workload& workload, const JobArguments& arguments,
                           const Cluster& cluster) {
  return transfer_compute(workload,
                          {.workload = arguments.workload,
                           .gpu = arguments.gpu,
                           .compute_scale = arguments.compute_scale,
                           .batch = arguments.batch},
                          cluster);
}

void set_compute(SimulationOptions& options, const JobArguments& arguments,
                 const ComputeScale& scale, const Workload& workload, const Cluster& cluster) {
  options.compute_scale = scale.factor;
  options.compute_scale_range = scale.range;
  set_rank_slowdown(arguments.variation, cluster.gpu, options);
  options.variation = rank_variation(arguments.variation, cluster, arguments.iterations);
  if (const auto gpu = recorded_on(workload)) options.recorded_sms = gpu->sms;
}

/// All that it may be, where nothing says which PyTorch runs.
std::vector<VersionRange> versions_of(const JobArguments& arguments, const DdpOptions& options,
                                      const Workload& workload, const Cluster& cluster) {
  const std::optional<GpuModel> gpu = recorded_on(workload);
  return possible_versions(workload, cluster, gpu ? &*gpu : nullptr, options,
                           stated_nccl(arguments.cluster.nccl));
}

/// What a scheme that keeps shards on the host asks of it, where nobody said.
void know_host(const ClusterRequest& request, const Cluster& cluster, Scheme& scheme) {
  CpuOffload* offload = offload_of(scheme);
  if (offload == nullptr) return;
  if (!offload->pcie) offload->pcie = host_copy_rate(load_topology(request)).value_or(kHostCopy);
  // A single rank keeps its threads: torchrun's config_from_args limits OpenMP where it starts several.
  if (offload->cpu_rate_assumed && cluster.gpus_per_host() == 1) offload->cpu_rate = kShareOfHost;
}

CollectiveModel collective_model(const JobArguments& arguments, const ReadOptions& asked,
                                 const Workload& workload, const Cluster& cluster,
                                 const ClusterReaders& readers) {
  if (arguments.backend.backend == Backend::gloo) {
    require_sane_rates(asked.gloo, cluster, workload);
    return GlooModel{.links = asked.gloo};
  }
  if (!over_flow(arguments)) return AnalyticModel{.tuning = asked.tuning};
  const ClusterRequest request = cluster_request(arguments.cluster);
  SharedFabric shared = arguments.background
                            ? load_background(*arguments.background, request)
                            : SharedFabric{.fabric = readers.fabric(request), .background = {}};
  return flow_model(asked.tuning, std::move(shared.fabric), std::move(shared.background));
}

/// What its logs told of a cluster's hosts, where nobody states otherwise. What was stated has no logs behind it.
std::vector<std::string> take_gloo_calibration(const BackendArguments& arguments, Cluster& cluster,
                                               GlooLinks& links) {
  std::vector<std::string> replaced;
  if (arguments.backend != Backend::gloo || !cluster.gloo) return replaced;
  links = gloo_links(arguments, cluster.gloo->links, cluster.gloo.get(), &replaced);
  if (!replaced.empty()) cluster.gloo.reset();
  return replaced;
}

}  // namespace

std::optional<std::string> without_recorded_waits(LoadedJob& loaded) {
  if (!loaded.measured_step) return std::nullopt;
  const Duration measured = loaded.measured_step->median;
  std::optional<Job> real = without_profiler(loaded.job, measured);
  if (!real) return std::nullopt;
  loaded.job = *std::move(real);
  return fmt::format(
      "the recorded step is longer than the measured {:.4g} ms, and its waits, as profilers make "
      "them, explain that: those for the host first, then those for input are shortened until the "
      "step is the measured one",
      measured.milliseconds());
}

void require_options(const JobArguments& arguments, const TypedLine& typed) {
  require_consistent(arguments, typed);
  const std::optional<TorchVersion> stated = stated_torch(arguments.ddp.torch);
  read_options(arguments, stated.value_or(kNewestTorch));
  memory_limit(arguments.memory);
}

LoadedJob load_job(const JobArguments& arguments, const TypedLine& typed,
                   std::optional<LoadedWorkload> read, const ClusterReaders& readers) {
  require_consistent(arguments, typed);
  const std::optional<TorchVersion> stated = stated_torch(arguments.ddp.torch);
  read_options(arguments, stated.value_or(kNewestTorch));  // a wrong option before a wrong file
  const std::optional<Bytes> memory = memory_limit(arguments.memory);
  LoadedWorkload loaded =
      read ? std::move(*read)
           : load_workload(arguments.workload, arguments.model, arguments.timing);
  require_batch_norms(arguments, loaded.workload);
  TorchInForce torch = torch_in_force(stated, loaded.workload.torch);
  ClusterRequest request = cluster_request(arguments.cluster);
  request.groups = {{1}};  // local SGD's
  Cluster cluster = readers.cluster(request);
  if (arguments.scheme)
    cluster = with_groups(std::move(cluster), request, parse_scheme(*arguments.scheme), readers);
  if (const std::optional<int> ranks = arguments.ddp.sync_batchnorm_group)
    cluster = with_group(std::move(cluster), request, *ranks, readers);
  // What is asked for changes no assumption: an option the assumed version lacks is a usage error.
  if (!torch.known)
    torch.version = assumed_among(versions_of(arguments, DdpOptions{}, loaded.workload, cluster));
  ReadOptions asked = read_options(arguments, torch.version, loaded.workload.recorded_with);
  take_stated_costs(arguments.host, loaded.workload.host_costs, cluster.gpu_costs, asked.options);
  std::vector<std::string> replaced = take_gloo_calibration(arguments.backend, cluster, asked.gloo);
  if (!torch.known)
    asked.options.possible_versions =
        versions_of(arguments, asked.options.ddp, loaded.workload, cluster);
  require_choice(arguments.cluster, cluster, asked.tuning);
  const std::shared_ptr<const Calibration> calibrated_before = cluster.calibration;
  if (arguments.backend.backend == Backend::nccl && !arguments.no_trace_calibration)
    cluster = calibrated_by_recording(std::move(cluster), loaded.workload, asked.tuning);
  const ComputeTransfer compute = carry_over(loaded.workload, arguments, cluster);
  set_compute(asked.options, arguments, compute.scale, loaded.workload, cluster);
  asked.options.data_set = data_set(arguments.epoch, arguments.workload, loaded.workload);
  if (arguments.epoch.uneven_inputs)
    asked.options.uneven_inputs =
        parse_uneven_inputs(*arguments.epoch.uneven_inputs, cluster.ranks());
  if (arguments.data_loader)
    asked.options.data_loader =
        data_loader_of(*arguments.data_loader, arguments.workload, loaded.workload, request);
  know_host(request, cluster, asked.options.scheme);
  asked.options.optimizer = know_memory(arguments.memory, loaded.workload);
  CollectiveModel model = collective_model(arguments, asked, loaded.workload, cluster, readers);

  const bool calibrated_by_recording = cluster.calibration != calibrated_before;
  LoadedJob result{.job = Job(std::move(loaded.workload), std::move(cluster),
                              std::move(asked.options), std::move(model)),
                   .provenance = {.workload_source = arguments.workload,
                                  .cluster_source = arguments.cluster.text,
                                  .label = {},
                                  .torch_known = torch.known,
                                  .scheme_asked = arguments.scheme.has_value(),
                                  .calibrated_by_recording = calibrated_by_recording},
                   .trust = {},
                   .measured_step = {},
                   .memory = memory};
  Warnings& warnings = result.trust.warnings;
  if (arguments.measured_step) {
    std::vector<std::string> read_so;
    result.measured_step =
        parse_measured_step(*arguments.measured_step, samples_of_step(result.job), read_so);
    warnings.add(read_so);
  }
  result.provenance.recorded = recorded_job(result.job);
  if (const auto& current = result.provenance.recorded)
    result.job = as_recorded(result.job, *current);
  std::optional<std::string> timed = without_recorded_waits(result);
  if (!torch.known && !result.job.workload().torch.empty())
    warnings.add(fmt::format("the workload's torch, \"{}\", is no version: {} is assumed (--torch)",
                             result.job.workload().torch, to_string(torch.version)));
  warnings.add(replaced);
  if (loaded.unprofiled_step && !result.measured_step &&
      arguments.workload == arguments.cluster.text)
    warnings.add(
        fmt::format("{} says that its step takes {:.6g} ms without the profiler: --measured-step "
                    "{:.6g}ms counts from there",
                    arguments.workload, loaded.unprofiled_step->milliseconds(),
                    loaded.unprofiled_step->milliseconds()));
  if (timed) warnings.add(*std::move(timed));
  warnings.add(archive_warnings(arguments.cluster.text, result.job.cluster()));
  warnings.add(loaded.warnings);
  if (loaded.ddp_log) warnings.add(warnings_in_workload(arguments.workload));
  warnings.add(warnings_in_cluster(request.text));
  warnings.add(compute.warnings);
  warnings.add(job_warnings(result.job, asked.tuning, arguments.backend.backend, compute.scale));
  for (std::string& warning : decisive_warnings(result.job.cluster(), arguments.backend.backend))
    warnings.overturn(std::move(warning));
  return result;
}

Job replay_current(LoadedJob& loaded, const Job& steady) {
  Trust& trust = loaded.trust;
  if (!loaded.measured_step) return steady;
  require_possible(*loaded.measured_step, steady, loaded.provenance.workload_source);
  trust.replay = Replay{loaded.measured_step->median, simulate_times(steady).iteration,
                        loaded.measured_step->spread, loaded.measured_step->source};
  trust.correction = correct(steady, trust.replay);
  if (!trust.correction) trust.warnings.overturn(contradiction(*trust.replay));
  return trust.correction ? explained(steady, trust.correction->all_compute) : steady;
}

std::string next_or_measure(const Job& job, TypedLine typed, const char* command,
                            std::string next) {
  if (!launch_bound(job.workload())) return next;
  typed.set("--measured-step", "TIME");
  return typed.for_command(command);
}

ReportedStep reported_step(const Job& job, const StepTimes& times) {
  return {.budget = budget_of(times),
          .speed = training_speed(step_work(job), times),
          .data = data_supply(job, times.iteration - times.input, times.host)};
}

void require_simulatable(const LoadedJob& loaded) {
  if (const auto problem = cannot_simulate(loaded.job))
    throw InputError(
        {.file = loaded.provenance.workload_source, .where = "", .message = *problem, .hint = ""});
}

void require_searchable(const LoadedJob& loaded, const std::string& instead) {
  const std::size_t parameters = loaded.job.workload().parameters.size();
  if (parameters > kMostTunedParameters)
    throw InputError({.file = loaded.provenance.workload_source,
                      .where = "/parameters",
                      .message = fmt::format(
                          "has {} parameters, and the limit of a search over bucket caps is {}",
                          parameters, kMostTunedParameters),
                      .hint = instead});
}

CountedMemory count_memory(LoadedJob& loaded) {
  CountedMemory counted{.peak = peak_memory(loaded.job), .problem = {}, .remedy = {}};
  const MemoryThere there = {.bytes = loaded.memory.value_or(loaded.job.cluster().gpu.memory),
                             .stated = loaded.memory.has_value()};
  std::optional<MemoryProblem> problem =
      memory_problem(counted.peak, there, loaded.job, loaded.provenance.workload_source);
  if (!problem) return counted;
  counted.remedy = std::move(problem->remedy);
  if (problem->refused)
    counted.problem = std::move(problem->diagnostic);
  else
    loaded.trust.warnings.overturn("memory: " + problem->diagnostic.message);
  return counted;
}

PeakMemory require_memory(LoadedJob& loaded) {
  CountedMemory counted = count_memory(loaded);
  if (counted.problem) throw InputError(*std::move(counted.problem));
  return counted.peak;
}

}  // namespace ddpsim
