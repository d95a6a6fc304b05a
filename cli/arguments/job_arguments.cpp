#include "job_arguments.hpp"

#include <CLI/CLI.hpp>

#include "data_loader_arguments.hpp"
#include "help_group.hpp"
#include "interference_arguments.hpp"
#include "scheme_arguments.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

void add_network_options(CLI::App& command, JobArguments& arguments) {
  const HelpGroup group(command, kClusterGroup);
  add_word_option<std::string>(command, "--network", arguments.network,
                               {{"analytic", "analytic"}, {"flow", "flow"}},
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

}  // namespace

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
