#include "job_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string_view>

#include "data_loader_arguments.hpp"
#include "ddpsim/calibrate/validate/step_argument.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "interference_arguments.hpp"
#include "scheme_arguments.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

void add_network_options(CLI::App& command, JobArguments& arguments) {
  const HelpGroup group(command, kClusterGroup);
  add_word_option<NetworkModel>(
      command, "--network", arguments.network,
      {{"analytic", NetworkModel::analytic}, {"flow", NetworkModel::flow}},
      "how collectives are timed: by a cost model, alone on the network "
      "(analytic, default), or chunk by "
      "chunk over the links (flow)");
  command
      .add_option("--background", arguments.background,
                  "what others send over the links (ddpsim.background/1); needs --network flow")
      ->type_name("FILE");
}

void add_recording_options(CLI::App& command, JobArguments& arguments) {
  const HelpGroup group(command, kRecordingGroup);
  add_model_option(command, arguments.model);
  add_timing_option(command, arguments.timing);
  command.add_flag(
      "--no-trace-calibration", arguments.no_trace_calibration,
      "do not calibrate the cluster with the recording's own all-reduces, as where it is the one "
      "recorded on");
  command.add_option("--measured-step", arguments.measured_step,
                     "today's unprofiled step with these options, 104ms or a file of step times "
                     "(FILE, FILE:KEY or "
                     "FILE:KEY=UNIT): the answer, and what its replay misses carried along");
  command.add_option("--gpu", arguments.gpu,
                     "accept the cluster's GPU: the workload is carried over layer by layer");
  command
      .add_option("--batch", arguments.batch,
                  "samples per GPU, where not the recorded ones: carried over layer by layer")
      ->check(CLI::Range(1, 1000000));
  command.add_option("--compute-scale", arguments.compute_scale,
                     "speed of the cluster's GPU relative to the recording's: 2.3±0.2");
}

CollectivesRequest collectives_request(const JobArguments& arguments, const TypedLine& typed) {
  const Backend backend = arguments.backend.backend;
  if (const auto option = typed.first_of(kNcclGroup); option && backend == Backend::gloo)
    throw UsageError(*option, "it sets NCCL, which --backend gloo does not use");
  return {.backend = backend,
          .gloo = stated_gloo(arguments.backend),
          .tuning = collective_tuning(arguments.cluster),
          .nccl = stated_nccl(arguments.cluster.nccl),
          .network = arguments.network,
          .background = arguments.background,
          .calibrated_by_recording = !arguments.no_trace_calibration};
}

}  // namespace

JobRequest job_request(const JobArguments& arguments, const TypedLine& typed) {
  JobRequest request{.workload = {.source = arguments.workload,
                                  .model = arguments.model,
                                  .timing = arguments.timing},
                     .cluster = cluster_request(arguments.cluster)};
  if (arguments.scheme) request.scheme = parse_scheme(*arguments.scheme);
  request.torch = stated_torch(arguments.ddp.torch);
  request.ddp = ddp_options(arguments.ddp);
  request.accumulate = arguments.ddp.accumulate;
  if (arguments.data_loader) request.data.loader = parse_data_loader(*arguments.data_loader);
  set_epoch(arguments.epoch, request.data);
  request.collectives = collectives_request(arguments, typed);
  if (arguments.interference) request.interference = read_interference(*arguments.interference);
  request.host = host_request(arguments.host);
  request.variation = variation_request(arguments.variation);
  request.memory = memory_request(arguments.memory);
  request.compute = {.gpu = arguments.gpu, .scale = {}, .batch = arguments.batch};
  if (arguments.compute_scale)
    request.compute.scale = parse_compute_scale(*arguments.compute_scale);
  if (arguments.measured_step)
    request.measured_step = parse_measured_step(*arguments.measured_step);
  request.iterations = arguments.iterations;
  require_consistent(request);
  return request;
}

ComputeScale parse_compute_scale(const std::string& text) {
  const auto fail = [&] {
    return UsageError("--compute-scale",
                      fmt::format("\"{}\" is not a ratio such as 2.3 or 2.3±0.2 (2 means twice as "
                                  "fast as the recording's GPU)",
                                  text));
  };
  std::string_view rest = text;
  const auto number = [&]() {
    const auto value = take_number<double>(rest);
    if (!value || !std::isfinite(*value)) throw fail();
    return *value;
  };
  ComputeScale scale{.as_typed = text};
  double error = 0;
  scale.factor = number();
  for (const std::string_view sign : {"±", "+-", "+/-"}) {
    if (!rest.starts_with(sign)) continue;
    rest.remove_prefix(sign.size());
    error = number();
    break;
  }
  constexpr double kLeast = 1e-3;
  constexpr double kMost = 1e3;
  if (!rest.empty() || error < 0 || scale.factor - error < kLeast || scale.factor + error > kMost)
    throw fail();
  if (error > 0) scale.range = {scale.factor - error, scale.factor + error};
  return scale;
}

MeasuredStepRequest parse_measured_step(const std::string& text) {
  const StepArgument argument = parse_step_argument(text);
  if (argument.file) return *argument.file;
  if (!argument.time)
    throw UsageError("--measured-step",
                     fmt::format("{}; or a file of step times, FILE, FILE:KEY or FILE:KEY=UNIT",
                                 argument.problem));
  if (*argument.time <= Duration()) throw UsageError("--measured-step", "must be longer than zero");
  if (*argument.time > kLongestStep)
    throw UsageError("--measured-step", "a step of more than a day", "Check the unit");
  return *argument.time;
}

void add_job_options(CLI::App& command, JobArguments& arguments) {
  command
      .add_option("WORKLOAD", arguments.workload,
                  "workload file, profiler trace, archive of scripts/collect.sh, layer table, "
                  "bundled name, or an estimate: MODEL@GPU[:bBATCH][:sSEQ][:bf16][:ckpt=full], "
                  "MODEL a name, "
                  "a config.json or llama:layers=L,hidden=H")
      ->required();
  add_scheme_option(command, arguments.scheme);
  add_bucket_options(command, arguments.ddp);
  add_step_options(command, arguments.ddp);
  add_nccl_options(command, arguments.cluster);
  add_cluster_options(command, arguments.cluster);
  add_backend_options(command, arguments.backend);
  add_network_options(command, arguments);
  add_interference_option(command, arguments.interference);
  add_recording_options(command, arguments);
  add_data_loader_option(command, arguments.data_loader);
  add_memory_options(command, arguments.memory);
  add_variation_options(command, arguments.variation);
  add_host_options(command, arguments.host);
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

}  // namespace ddpsim
