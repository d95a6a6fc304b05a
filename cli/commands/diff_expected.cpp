#include "diff_expected.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/recorded_buckets.hpp"
#include "help_group.hpp"
#include "job_arguments.hpp"

namespace ddpsim {
namespace {

std::string of_provenance(const Workload& workload, std::string_view key) {
  for (const auto& [name, text] : workload.provenance)
    if (name == key) return text;
  return "";
}

/// Returns the DDP options that the recorder noted.
DdpOptions ddp_options_of(const Workload& workload) {
  const std::string options = of_provenance(workload, "ddp_options");
  const auto has = [&](std::string_view option) {
    return options.find(option) != std::string::npos;
  };
  DdpOptions ddp;
  ddp.find_unused_parameters = has("--find-unused-parameters");
  ddp.static_graph = has("--static-graph");
  ddp.gradient_as_bucket_view = has("--gradient-as-bucket-view");
  ddp.broadcast_buffers = !has("--no-broadcast-buffers");
  return ddp;
}

/// Simulates OLD's recording with the versions, options and buckets of `of`.
Loss simulated(const ExpectedArguments& arguments, const DiffSide& before, const Workload& of,
               const std::string& cluster, Duration& step) {
  JobRequest request{.workload = {.source = before.shown.source}, .cluster = {.text = cluster}};
  request.collectives = {.backend = arguments.backend.backend,
                         .gloo = stated_gloo(arguments.backend),
                         .nccl = of.recorded_with.nccl};
  if (arguments.compute_scale)
    request.compute.scale = parse_compute_scale(*arguments.compute_scale);
  const TorchInForce torch = torch_in_force(std::nullopt, of.torch);
  if (torch.known) request.torch = torch.version;
  request.ddp = ddp_options_of(of);
  LoadedWorkload read{.workload = *before.workload, .warnings = {}, .ddp_log = {}};
  Workload& workload = read.workload;
  // Every simulated rank takes the recorded compute time of this rank.
  workload.ranks.clear();
  if (!of.recorded_with.collectives.empty()) {
    workload.recorded_with.collectives = of.recorded_with.collectives;
    workload.steps.clear();
  }
  const BuiltJob loaded = build_job(request, std::move(read));
  require_simulatable(loaded);
  SimulationOptions options = loaded.job.options();
  if (!of.recorded_with.collectives.empty()) {
    std::vector<Bucket> buckets = cut_as_recorded(loaded.job.workload());
    if (!buckets.empty()) options.buckets = std::move(buckets);
  }
  const StepTimes times = simulate_times(loaded.job.with(std::move(options)));
  step = times.iteration;
  return times.loss;
}

/// Adds what was assumed, because neither side tells it.
void add_assumptions(const Workload& settings, Backend backend, std::string_view whose,
                     std::vector<std::string>& warnings) {
  const TorchInForce torch = torch_in_force(std::nullopt, settings.torch);
  if (!torch.known)
    warnings.push_back(fmt::format("--cluster: {} does not tell its PyTorch version; {} is assumed",
                                   whose, to_string(torch.version)));
  if (backend == Backend::nccl && !settings.recorded_with.nccl)
    warnings.push_back(fmt::format(
        "--cluster: {} does not tell its NCCL version; the cluster's is assumed", whose));
  if (settings.recorded_with.collectives.empty())
    warnings.push_back(fmt::format(
        "--cluster: {} has no recorded all-reduces; PyTorch's default buckets are assumed", whose));
}

}  // namespace

void add_expected_options(CLI::App& command, ExpectedArguments& arguments) {
  const HelpGroup group(command, kClusterGroup);
  CLI::Option* cluster =
      common(command.add_option("--cluster", arguments.cluster,
                                "Also predict the change from OLD's recording under NEW's versions "
                                "and options, on OLD's cluster"))
          ->type_name("CLUSTER");
  command
      .add_option("--new-cluster", arguments.new_cluster,
                  "Name the cluster NEW ran on, if it is another")
      ->type_name("CLUSTER")
      ->needs(cluster);
  add_backend_options(command, arguments.backend);
  const HelpGroup recording(command, kRecordingGroup);
  command
      .add_option(
          "--compute-scale", arguments.compute_scale,
          "State how many times as fast as the recorded GPU the cluster's GPU is, such as 1")
      ->type_name("FACTOR")
      ->needs(cluster);
}

void expect(const ExpectedArguments& arguments, const DiffSide& before, const DiffSide& after,
            DifferenceReport& report) {
  const std::string& old_cluster = *arguments.cluster;
  const std::string& new_cluster = arguments.new_cluster ? *arguments.new_cluster : old_cluster;
  Duration old_step, new_step;
  const Workload& settings = after.workload ? *after.workload : *before.workload;
  const Loss old = simulated(arguments, before, *before.workload, old_cluster, old_step);
  const Loss now = simulated(arguments, before, settings, new_cluster, new_step);
  report.expected_change = new_step - old_step;
  report.expected_of = fmt::format("OLD's recording on {}, then {}{}", old_cluster,
                                   new_cluster == old_cluster ? "" : "on " + new_cluster + " ",
                                   after.workload ? "with NEW's versions, options and buckets"
                                                  : "as it was: NEW does not say how it ran");
  add_assumptions(settings, arguments.backend.backend, after.workload ? "NEW" : "OLD",
                  report.warnings);
  const auto of = [&](StepPart part) -> std::optional<Duration> {
    if (part == StepPart::kernels) return (new_step - now.total()) - (old_step - old.total());
    if (part == StepPart::all_reduce_transfer)
      return now[LossCause::exposed_all_reduce] - old[LossCause::exposed_all_reduce];
    const auto cause = static_cast<LossCause>(index_of(part) - index_of(StepPart::first_cause));
    return cause == LossCause::exposed_all_reduce ? std::nullopt
                                                  : std::optional(now[cause] - old[cause]);
  };
  for (DifferenceRow& row : report.difference.rows) row.expected = of(row.part);
}

}  // namespace ddpsim
