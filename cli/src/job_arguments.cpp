#include "job_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "compute_transfer.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/sim/bucket_assignment.hpp"
#include "ddpsim/topologies/background_file.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/plausible.hpp"
#include "ddpsim/topologies/topology.hpp"
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
  std::vector<Bytes> sizes;
  if (cannot_simulate(job.workload, job.cluster, job.options)) return sizes;
  for (const Bucket& bucket : steady_buckets(job.workload, job.options.ddp))
    sizes.push_back(wire_bytes(job.options.ddp, bucket.dtype, bucket.bytes));
  return sizes;
}

std::vector<std::string> job_warnings(const Workload& workload, const Cluster& cluster,
                                      const CollectiveTuning& tuning, bool gloo,
                                      const ComputeScale& scale,
                                      const std::vector<Bytes>& buckets) {
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
  if (gloo) {  // what follows is of NCCL, these figures are of the machines
    for (std::string& warning : implausible_figures(cluster))
      warnings.push_back(std::move(warning));
  } else {
    for (std::string& warning : cluster_warnings(cluster, tuning, buckets))
      warnings.push_back(std::move(warning));
    for (std::string& warning : nccl_warnings(tuning)) warnings.push_back(std::move(warning));
  }
  if (scale.factor != 1 && 2 * behind > workload.host_ready.size())
    warnings.emplace_back(
        "compute is scaled as a whole, but a recording bound by the host hardly gets faster with "
        "another GPU");
  return warnings;
}

}  // namespace

void add_job_options(CLI::App& command, JobArguments& arguments) {
  command
      .add_option("WORKLOAD", arguments.workload,
                  "workload file, profiler trace, layer table, bundled name, or an "
                  "estimate: MODEL@GPU[:bBATCH][:sSEQ][:fp32|tf32|amp|bf16]")
      ->required();
  add_cluster_options(command, arguments.cluster);
  add_bucket_options(command, arguments.ddp);
  add_step_options(command, arguments.ddp);
  command.add_option("--model", arguments.model, "parameter list for traces without shapes");
  add_timing_option(command, arguments.timing);
  add_backend_options(command, arguments.backend);
  add_nccl_options(command, arguments.cluster);
  add_word_option<std::string>(
      command, "--network", arguments.network, {{"analytic", "analytic"}, {"flow", "flow"}},
      "how collectives are timed: by a law, alone on the network (analytic, default), or chunk by "
      "chunk over the links (flow)");
  command.add_option("--background", arguments.background,
                     "what others send over the links (ddpsim.background/1); needs --network flow");
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
  add_interference_option(command, arguments.interference);
  add_variation_options(command, arguments.variation);
}

void add_timing_option(CLI::App& command, Timing& timing) {
  add_word_option<Timing>(
      command, "--timing", timing,
      {{"recorded", Timing::recorded}, {"compacted", Timing::compacted}},
      "of a trace: recorded (default), or compacted: without the gaps in which the GPU waited for "
      "the host");
}

std::string command_line(const std::string& command, const JobArguments& arguments) {
  const auto quoted = [](const std::string& word) {
    const bool plain = word.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "@%+=:,./_-") == std::string::npos;
    if (plain && !word.empty()) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
  };
  std::string line =
      "ddpsim " + command + " " + quoted(arguments.workload) + " " + quoted(arguments.cluster.text);
  const auto option = [&](const char* name, const std::optional<std::string>& value) {
    if (value) line += fmt::format(" {} {}", name, quoted(*value));
  };
  const auto flag = [&](const char* name, bool set) {
    if (set) line += fmt::format(" {}", name);
  };
  const auto number = [](std::optional<int> value) {
    return value ? std::optional(std::to_string(*value)) : std::nullopt;
  };
  const DdpArguments& ddp = arguments.ddp;
  const DdpArguments standard;
  option("--bucket-cap-mb", ddp.bucket_cap_mb);
  option("--first-bucket-mb", ddp.first_bucket_mb);
  option("--bucket-cap-mb-list", ddp.bucket_cap_mb_list);
  if (ddp.torch != standard.torch) option("--torch", ddp.torch);
  flag("--find-unused-parameters", ddp.find_unused_parameters);
  flag("--static-graph", ddp.static_graph);
  flag("--gradient-as-bucket-view", ddp.gradient_as_bucket_view);
  flag("--no-broadcast-buffers", ddp.no_broadcast_buffers);
  if (ddp.accumulate != standard.accumulate) option("--accumulate", number(ddp.accumulate));
  if (ddp.comm_hook != CommHook::none) option("--comm-hook", std::string(word_of(ddp.comm_hook)));
  if (ddp.process_groups != standard.process_groups)
    option("--process-groups", number(ddp.process_groups));
  option("--model", arguments.model);
  if (arguments.timing == Timing::compacted) option("--timing", "compacted");
  for (const auto& [name, value] : typed_options(arguments.cluster))
    line += value ? fmt::format(" {} {}", name, quoted(*value)) : " " + name;
  if (arguments.backend.backend == Backend::gloo) option("--backend", "gloo");
  option("--gloo", arguments.backend.gloo);
  if (arguments.network != JobArguments{}.network) option("--network", arguments.network);
  option("--background", arguments.background);
  option("--measured-step", arguments.measured_step);
  option("--interference", arguments.interference);
  option("--gpu", arguments.gpu);
  option("--compute-scale", arguments.compute_scale);
  if (arguments.batch) line += fmt::format(" --batch {}", *arguments.batch);
  for (const std::string& straggler : arguments.variation.stragglers)
    option("--straggler", straggler);
  option("--rank-slowdown", arguments.variation.rank_slowdown);
  return line;
}

Job load_job(const JobArguments& arguments, std::optional<LoadedWorkload> read) {
  Job job;
  const bool flow = arguments.network == "flow";
  if (arguments.background && !flow)
    throw UsageError("--background: only --network flow knows of other traffic; add it");
  require_one_backend(arguments.backend, arguments.cluster, flow);
  const bool gloo = arguments.backend.backend == Backend::gloo;
  if (gloo && arguments.interference)
    throw UsageError(
        "--interference: it is of NCCL's kernels, which --backend gloo does not use; leave it out");
  job.options.ddp = ddp_options(arguments.ddp);
  if (flow && job.options.ddp.process_groups > 1)
    throw UsageError(
        "--process-groups: --network flow runs one collective at a time; leave one out");
  job.options.interference = read_interference(arguments.interference);
  const GlooLinks gloo_there = gloo_links(arguments.backend);
  const CollectiveTuning tuning = collective_tuning(arguments.cluster, job.options.ddp.torch);
  if (arguments.measured_step) job.measured_step = parse_measured_step(*arguments.measured_step);
  if (arguments.compute_scale) parse_compute_scale(*arguments.compute_scale);

  LoadedWorkload loaded =
      read ? std::move(*read)
           : load_workload(arguments.workload, arguments.model, arguments.timing);
  job.workload = std::move(loaded.workload);
  job.workload_source = arguments.workload;
  const ClusterRequest request = cluster_request(arguments.cluster);
  job.cluster = load_cluster(request);
  require_choice(arguments.cluster, job.cluster, tuning);
  ComputeTransfer compute = transfer_compute(job.workload,
                                             {.workload = arguments.workload,
                                              .gpu = arguments.gpu,
                                              .compute_scale = arguments.compute_scale,
                                              .batch = arguments.batch},
                                             job.cluster);
  job.options.compute_scale = compute.scale.factor;
  job.options.compute_scale_range = compute.scale.range;
  job.options.iterations = arguments.iterations;
  set_pace(arguments.variation, job.options);
  job.options.variation = rank_variation(arguments.variation, job.cluster, arguments.iterations);
  if (const auto recorded_on = find_gpu(job.workload.gpu))
    job.options.recorded_sms = recorded_on->sms;
  if (gloo) {
    job.model = GlooModel{.cluster = job.cluster, .links = gloo_there};
    require_sane_rates(std::get<GlooModel>(job.model), job.workload);
  } else if (flow) {
    SharedFabric shared = arguments.background
                              ? load_background(*arguments.background, request)
                              : SharedFabric{.fabric = build_fabric(request), .background = {}};
    job.model = flow_model(job.cluster, tuning, std::move(shared.fabric), shared.background);
  } else {
    job.model = AnalyticModel{.cluster = job.cluster, .tuning = tuning};
  }

  ReportContext& context = job.context;
  context.workload = job.workload.name.empty() ? arguments.workload : job.workload.name;
  context.cluster = job.cluster.name;
  context.ranks = job.cluster.ranks();
  context.torch = job.options.ddp.torch;
  context.nccl = tuning.nccl;
  context.network = arguments.network;
  context.backend = arguments.backend.backend;
  context.compute_scale = compute.scale.factor;
  context.rank_slowdown = slowdown_of_compute(job.options.pace, job.workload, job.cluster);
  context.variation = job.options.variation;
  if (job.workload.batch_per_gpu)
    context.samples_per_step = static_cast<double>(*job.workload.batch_per_gpu) *
                               job.cluster.ranks() * job.options.ddp.accumulate;
  context.batch_per_gpu = job.workload.batch_per_gpu;
  context.comm_hook = job.options.ddp.comm_hook;
  context.bucket_setting = describe_buckets(job.options.ddp);
  context.warnings = std::move(loaded.warnings);
  for (std::string& warning : compute.warnings) context.warnings.push_back(std::move(warning));
  for (std::string& warning :
       job_warnings(job.workload, job.cluster, tuning, gloo, compute.scale, bucket_sizes(job)))
    context.warnings.push_back(std::move(warning));
  for (std::string& warning : rank_warnings(job.workload, job.cluster))
    context.warnings.push_back(std::move(warning));
  if (const auto wire = job.workload.recorded_with.wire;
      wire && wire_dtype(job.options.ddp, Dtype::float32) != *wire)
    context.warnings.push_back(fmt::format(
        "recorded under a compression hook (all-reduces of {}), simulated without it: its casts "
        "stay in the recorded backward; --comm-hook {} simulates it as it ran",
        name_of(*wire), *wire == Dtype::bfloat16 ? "bf16" : "fp16"));
  const bool bfloat16 = job.options.ddp.comm_hook == CommHook::bf16_compress;
  require_version("--comm-hook bf16", bfloat16 && !gloo, tuning, {2, 10, 0});
  if (gloo && bfloat16)
    context.warnings.emplace_back(
        "gloo refuses bfloat16 in PyTorch 1.13 and many versions after (\"Invalid scalar type\"); "
        "try it before you count on it");
  for (std::string& warning : ddp_warnings(job.options.ddp))
    context.warnings.push_back(std::move(warning));
  return job;
}

void replay_today(Job& job, Duration predicted) {
  if (!job.measured_step) return;
  job.context.replay = Replay{*job.measured_step, predicted};
  constexpr double kFarOff = 2;
  const double times = predicted / *job.measured_step;
  if (times <= kFarOff && times >= 1 / kFarOff) return;
  job.context.warnings.push_back(fmt::format(
      "--measured-step {:.6g} ms, but {:.6g} ms are predicted: another job, or another unit?",
      job.measured_step->milliseconds(), predicted.milliseconds()));
}

void require_simulatable(const Job& job) {
  if (const auto problem = cannot_simulate(job.workload, job.cluster, job.options))
    throw InputError({.file = job.workload_source, .where = "", .message = *problem, .hint = ""});
}

}  // namespace ddpsim
