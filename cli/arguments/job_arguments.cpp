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
      "Time each collective alone by a cost model, or all of them chunk by chunk over shared links "
      "(default: analytic)");
  command
      .add_option("--background", arguments.background,
                  "With --network flow, add the traffic of other jobs from this file "
                  "(ddpsim.background/1)")
      ->type_name("FILE");
}

void add_recording_options(CLI::App& command, JobArguments& arguments) {
  const HelpGroup group(command, kRecordingGroup);
  add_model_option(command, arguments.model);
  add_timing_option(command, arguments.timing);
  command.add_flag(
      "--no-trace-calibration", arguments.no_trace_calibration,
      "Do not calibrate the cluster with the recording's own all-reduces (default: do, on the "
      "cluster recorded on)");
  common(command.add_option("--measured-step", arguments.measured_step,
                            "Start from your job's measured step without a profiler: 104ms, FILE, "
                            "FILE:KEY or FILE:KEY=UNIT"))
      ->type_name("TIME|FILE");
  common(command.add_option("--gpu", arguments.gpu,
                            "Accept this GPU of CLUSTER, not the recorded one; times are scaled "
                            "layer by layer"))
      ->type_name("NAME");
  common(command.add_option("--batch", arguments.batch,
                            "Scale times layer by layer to N samples per GPU"))
      ->check(CLI::Range(1, 1000000));
  command
      .add_option("--compute-scale", arguments.compute_scale,
                  "State how many times as fast as the recorded GPU the cluster's GPU is, such as "
                  "2.3±0.2")
      ->type_name("FACTOR");
}

CollectivesRequest collectives_request(const JobArguments& arguments, const TypedLine& typed) {
  const Backend backend = arguments.backend.backend;
  if (const auto option = typed.first_of(kNcclGroup); option && backend == Backend::gloo)
    throw UsageError(*option, "this option sets NCCL, which --backend gloo does not use");
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
                      fmt::format("\"{}\" is not a factor such as 2.3 or 2.3±0.2; 2 means twice as "
                                  "fast as the recorded GPU",
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
                     fmt::format("{}, or a file of step times: FILE, FILE:KEY or FILE:KEY=UNIT",
                                 argument.problem));
  if (*argument.time <= Duration()) throw UsageError("--measured-step", "must be longer than zero");
  if (*argument.time > kLongestStep)
    throw UsageError("--measured-step", "a step cannot take more than a day", "Check the unit");
  return *argument.time;
}

void add_job_options(CLI::App& command, JobArguments& arguments) {
  command
      .add_option("WORKLOAD", arguments.workload,
                  "A file (trace, workload, layer table, scripts/collect.sh archive), name from "
                  "`ddpsim list`, or estimate MODEL@GPU[:bBATCH][:bf16]")
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
  command
      .add_option("--model", model,
                  "Take the parameters from this model if the trace has no shapes (see `ddpsim "
                  "list`)")
      ->type_name("NAME");
}

void add_timing_option(CLI::App& command, Timing& timing) {
  const HelpGroup group(command, kRecordingGroup);
  add_word_option<Timing>(
      command, "--timing", timing,
      {{"recorded", Timing::recorded}, {"compacted", Timing::compacted}},
      "Replay the trace as recorded, or without the gaps in which the GPU waited for its host "
      "(default: recorded)");
}

}  // namespace ddpsim
