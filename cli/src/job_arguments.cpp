#include "job_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "compute_transfer.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/sim/bucket_assignment.hpp"
#include "ddpsim/sim/step.hpp"
#include "ddpsim/topologies/background_file.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/plausible.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "help_group.hpp"
#include "interference_arguments.hpp"
#include "rank_warnings.hpp"
#include "usage_error.hpp"
#include "word_option.hpp"
#include "workload_source.hpp"

namespace ddpsim {
namespace {

Duration parse_measured_step(const std::string& text) {
  const Parsed<Duration> parsed = parse_duration(text);
  if (!parsed.value) throw UsageError("--measured-step: " + parsed.problem);
  if (*parsed.value <= Duration()) throw UsageError("--measured-step: must be longer than zero");
  return *parsed.value;
}

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
  if (workload.ranks.empty() && workload.recorded_with.world_size > 1 &&
      workload.recorded_with.nccl_kernels > 0)
    warnings.push_back(fmt::format(
        "recorded on one of {} ranks: waits for the others cannot be told from transfers",
        workload.recorded_with.world_size));
  if (const std::int64_t compiled = workload.recorded_with.compiled_gradients; compiled > 0)
    warnings.push_back(
        fmt::format("compiled backward: {} of {} gradients came out of one compiled node together, "
                    "when it had ended; torch.compile cuts its graph where buckets end, so other "
                    "buckets would have moved them: read the result for the recorded buckets only",
                    compiled, workload.backward ? workload.backward->ready.size() : 0));
  const std::size_t behind = gradients_behind_host(workload);
  if (2 * behind > workload.host_ready.size())
    warnings.push_back(
        fmt::format("the recording is bound by the host ({} of {} gradients waited for it), as "
                    "profilers make it: a step without the profiler is likely shorter; give the "
                    "trace with --timing compacted, or check with ddpsim simulate --measured-step",
                    behind, workload.host_ready.size()));
  if (scale.factor != 1 && 2 * behind > workload.host_ready.size())
    warnings.emplace_back(
        "compute is scaled as a whole, but a recording bound by the host hardly gets faster with "
        "another GPU");
  return warnings;
}

/// Of DDP's options, beside what was recorded and what sends.
std::vector<std::string> option_warnings(const Job& job, const CollectiveTuning& tuning,
                                         bool gloo) {
  std::vector<std::string> warnings;
  const DdpOptions& ddp = job.options().ddp;
  if (const auto wire = job.workload().recorded_with.wire;
      wire && wire_dtype(ddp, Dtype::float32) != *wire)
    warnings.push_back(fmt::format(
        "recorded under a compression hook (all-reduces of {}), simulated without it: its casts "
        "stay in the recorded backward; --comm-hook {} simulates it as it ran",
        name_of(*wire), *wire == Dtype::bfloat16 ? "bf16" : "fp16"));
  const bool bfloat16 = ddp.comm_hook == CommHook::bf16_compress;
  require_version("--comm-hook bf16", bfloat16 && !gloo, tuning, {2, 10, 0});
  if (gloo && bfloat16)
    warnings.emplace_back(
        "gloo refuses bfloat16 in PyTorch 1.13 and many versions after (\"Invalid scalar type\"); "
        "try it before you count on it");
  for (std::string& warning : ddp_warnings(ddp)) warnings.push_back(std::move(warning));
  return warnings;
}

/// What a reader of the answer should know of its job.
std::vector<std::string> job_warnings(const Job& job, const CollectiveTuning& tuning, bool gloo,
                                      const ComputeScale& scale) {
  std::vector<std::string> warnings = recording_warnings(job.workload(), scale);
  const auto add = [&](std::vector<std::string> further) {
    for (std::string& warning : further) warnings.push_back(std::move(warning));
  };
  if (gloo) {  // what the other branch says is of NCCL, these figures are of the machines
    add(implausible_figures(job.cluster()));
  } else {
    add(cluster_warnings(job.cluster(), tuning, bucket_sizes(job)));
    add(nccl_warnings(tuning));
  }
  add(rank_warnings(job.workload(), job.cluster()));
  add(option_warnings(job, tuning, gloo));
  return warnings;
}

void add_network_options(CLI::App& command, JobArguments& arguments) {
  const HelpGroup group(command, kClusterGroup);
  add_word_option<std::string>(
      command, "--network", arguments.network, {{"analytic", "analytic"}, {"flow", "flow"}},
      "how collectives are timed: by a law, alone on the network (analytic, default), or chunk by "
      "chunk over the links (flow)");
  command.add_option("--background", arguments.background,
                     "what others send over the links (ddpsim.background/1); needs --network flow");
}

void add_recording_options(CLI::App& command, JobArguments& arguments) {
  const HelpGroup group(command, kRecordingGroup);
  add_model_option(command, arguments.model);
  add_timing_option(command, arguments.timing);
  command.add_option("--measured-step", arguments.measured_step,
                     "today's unprofiled step (104ms): replayed first, residual carried along");
  command.add_option("--gpu", arguments.gpu,
                     "accept the cluster's GPU: the workload is carried over layer by layer");
  command
      .add_option("--batch", arguments.batch,
                  "samples per GPU, where not the recorded ones: carried over layer by layer")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--compute-scale", arguments.compute_scale,
                     "speed of the cluster's GPU relative to the recording's: 2.3±0.2");
}

ReportContext context_of(const Job& job, const JobArguments& arguments, NcclVersion nccl) {
  const Workload& workload = job.workload();
  const SimulationOptions& options = job.options();
  ReportContext context;
  context.workload = workload.name.empty() ? arguments.workload : workload.name;
  context.cluster = job.cluster().name;
  context.ranks = job.cluster().ranks();
  context.torch = options.ddp.torch;
  context.nccl = nccl;
  context.network = arguments.network;
  context.backend = arguments.backend.backend;
  context.compute_scale = options.compute_scale;
  context.rank_slowdown = slowdown_of_compute(options.pace, workload, job.cluster());
  context.variation = options.variation;
  if (workload.batch_per_gpu)
    context.samples_per_step = static_cast<double>(*workload.batch_per_gpu) *
                               job.cluster().ranks() * options.ddp.accumulate;
  context.batch_per_gpu = workload.batch_per_gpu;
  context.comm_hook = options.ddp.comm_hook;
  context.bucket_setting = describe_buckets(options.ddp);
  return context;
}

}  // namespace

void add_job_options(CLI::App& command, JobArguments& arguments) {
  command
      .add_option("WORKLOAD", arguments.workload,
                  "workload file, profiler trace, layer table, bundled name, or an "
                  "estimate: MODEL@GPU[:bBATCH][:sSEQ][:fp32|tf32|amp|bf16]")
      ->required();
  add_bucket_options(command, arguments.ddp);
  add_step_options(command, arguments.ddp);
  add_nccl_options(command, arguments.cluster);
  add_cluster_options(command, arguments.cluster);
  add_backend_options(command, arguments.backend);
  add_network_options(command, arguments);
  add_interference_option(command, arguments.interference);
  add_recording_options(command, arguments);
  add_variation_options(command, arguments.variation);
}

void add_model_option(CLI::App& command, std::optional<std::string>& model) {
  const HelpGroup group(command, kRecordingGroup);
  command.add_option("--model", model, "parameter list for traces without shapes");
}

void add_timing_option(CLI::App& command, Timing& timing) {
  const HelpGroup group(command, kRecordingGroup);
  add_word_option<Timing>(
      command, "--timing", timing,
      {{"recorded", Timing::recorded}, {"compacted", Timing::compacted}},
      "of a trace: recorded (default), or compacted: without the gaps in which the GPU waited for "
      "the host");
}

LoadedJob load_job(const JobArguments& arguments, const TypedLine& typed,
                   std::optional<LoadedWorkload> read) {
  const bool flow = arguments.network == "flow";
  if (arguments.background && !flow)
    throw UsageError("--background: only --network flow knows of other traffic; add it");
  require_one_backend(arguments.backend, typed, flow);
  const bool gloo = arguments.backend.backend == Backend::gloo;
  if (gloo && arguments.interference)
    throw UsageError(
        "--interference: it is of NCCL's kernels, which --backend gloo does not use; leave it out");
  SimulationOptions options;
  options.ddp = ddp_options(arguments.ddp);
  if (flow && options.ddp.process_groups > 1)
    throw UsageError(
        "--process-groups: --network flow runs one collective at a time; leave one out");
  options.interference = read_interference(arguments.interference);
  options.iterations = arguments.iterations;
  const GlooLinks gloo_there = gloo_links(arguments.backend);
  const CollectiveTuning tuning = collective_tuning(arguments.cluster, options.ddp.torch);
  std::optional<Duration> measured_step;
  if (arguments.measured_step) measured_step = parse_measured_step(*arguments.measured_step);
  if (arguments.compute_scale) parse_compute_scale(*arguments.compute_scale);

  LoadedWorkload loaded =
      read ? std::move(*read)
           : load_workload(arguments.workload, arguments.model, arguments.timing);
  Workload& workload = loaded.workload;
  const ClusterRequest request = cluster_request(arguments.cluster);
  Cluster cluster = load_cluster(request);
  require_choice(arguments.cluster, cluster, tuning);
  const ComputeTransfer compute = transfer_compute(workload,
                                                   {.workload = arguments.workload,
                                                    .gpu = arguments.gpu,
                                                    .compute_scale = arguments.compute_scale,
                                                    .batch = arguments.batch},
                                                   cluster);
  options.compute_scale = compute.scale.factor;
  options.compute_scale_range = compute.scale.range;
  set_pace(arguments.variation, options);
  options.variation = rank_variation(arguments.variation, cluster, arguments.iterations);
  if (const auto recorded_on = find_gpu(workload.gpu)) options.recorded_sms = recorded_on->sms;
  CollectiveModel model = AnalyticModel{.tuning = tuning};
  if (gloo) {
    require_sane_rates(gloo_there, cluster, workload);
    model = GlooModel{.links = gloo_there};
  } else if (flow) {
    SharedFabric shared = arguments.background
                              ? load_background(*arguments.background, request)
                              : SharedFabric{.fabric = build_fabric(request), .background = {}};
    model = flow_model(tuning, std::move(shared.fabric), std::move(shared.background));
  }
  LoadedJob result{
      .job = Job(std::move(workload), std::move(cluster), std::move(options), std::move(model)),
      .workload_source = arguments.workload,
      .measured_step = measured_step,
      .context = {}};
  result.context = context_of(result.job, arguments, tuning.nccl);
  std::vector<std::string>& warnings = result.context.warnings;
  warnings = std::move(loaded.warnings);
  warnings.insert(warnings.end(), compute.warnings.begin(), compute.warnings.end());
  for (std::string& warning : job_warnings(result.job, tuning, gloo, compute.scale))
    warnings.push_back(std::move(warning));
  return result;
}

void replay_today(LoadedJob& loaded, Duration predicted) {
  if (!loaded.measured_step) return;
  const Duration measured = *loaded.measured_step;
  loaded.context.replay = Replay{measured, predicted};
  constexpr double kFarOff = 2;
  const double times = predicted / measured;
  if (times <= kFarOff && times >= 1 / kFarOff) return;
  loaded.context.warnings.push_back(fmt::format(
      "--measured-step {:.6g} ms, but {:.6g} ms are predicted: another job, or another unit?",
      measured.milliseconds(), predicted.milliseconds()));
}

void require_simulatable(const LoadedJob& loaded) {
  if (const auto problem = cannot_simulate(loaded.job))
    throw InputError(
        {.file = loaded.workload_source, .where = "", .message = *problem, .hint = ""});
}

}  // namespace ddpsim
