#include "sweep_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "ddpsim/formats/output_file.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "help_group.hpp"
#include "own_outputs.hpp"

namespace ddpsim {
namespace {

/// Text such as "NAME (what it is), …".
std::string backends_help() {
  std::string help;
  for (const BackendKind& kind : backend_kinds())
    help += fmt::format("{}{} ({})", help.empty() ? "" : ", ", kind.name, kind.summary);
  return help;
}

void add_output_options(CLI::App& app, SweepArguments& arguments) {
  const HelpGroup group(app, kOutputGroup);
  CLI::Option* json =
      app.add_flag("--json", arguments.json, "one JSON document on stdout, nothing else there");
  app.add_flag("--csv", arguments.csv, "CSV on stdout")->excludes(json);
  app.add_option("-o,--output", arguments.output,
                 "folder for measurement.json, measurement.csv and a timeline per configuration");
}

/// Refuses a value that is given twice, because its results could not be told apart.
void refuse_repeated(const char* option, std::string_view text, bool repeated) {
  if (repeated) throw UsageError(option, fmt::format("{} is given twice", text));
}

std::vector<Configuration> configurations(const SweepArguments& arguments,
                                          const Workload& workload) {
  std::vector<std::optional<double>> caps;
  ReducerOptions base{ddp_options(arguments.ddp)};
  base.torch = torch_in_force(stated_torch(arguments.ddp.torch), workload.torch).version;
  base.accumulate = arguments.ddp.accumulate.value_or(workload.recorded_with.accumulate);
  if (arguments.caps) {
    for (const double cap : mib_list(*arguments.caps, "--caps")) {
      refuse_repeated("--caps", fmt::format("{}", cap), std::ranges::count(caps, cap) > 0);
      caps.emplace_back(cap);
    }
  } else {
    caps.push_back(base.bucket_cap_mb);
  }
  std::vector<bool> views = {base.gradient_as_bucket_view || arguments.views == "yes"};
  if (arguments.views == "both") views = {false, true};
  std::vector<Configuration> result;
  for (const std::optional<double> cap : caps) {
    for (const bool view : views) {
      Configuration configuration{.name = cap ? fmt::format("cap{}", *cap) : "default",
                                  .options = base};
      if (view) configuration.name += "-views";
      configuration.options.bucket_cap_mb = cap;
      configuration.options.gradient_as_bucket_view = view;
      require_supported(configuration.options, configuration.options.torch);
      const CommHook hook = configuration.options.comm_hook;
      if (hook == CommHook::power_sgd || hook == CommHook::post_local_sgd)
        throw UsageError(fmt::format("--comm-hook {}", word_of(hook)),
                         "ddpsim-real runs none, fp16 and bf16");
      if (configuration.options.comm_hook_min_mb > 0)
        throw UsageError("--comm-hook-min-mb", "ddpsim-real casts every bucket", "Leave it out");
      if (configuration.options.optimizer_in_backward)
        throw UsageError("--apply-optimizer-in-backward", "ddpsim-real steps after backward");
      result.push_back(std::move(configuration));
    }
  }
  return result;
}

std::vector<Bytes> sizes(const SweepArguments& arguments) {
  std::vector<Bytes> result;
  if (!arguments.all_reduce) return result;
  for (const std::string_view item : split(*arguments.all_reduce, ',')) {
    const Parsed<Bytes> size = parse_bytes(item);
    if (!size.value) throw UsageError("--all-reduce", size.problem);
    const std::int64_t element =
        element_size(wire_dtype({.comm_hook = arguments.ddp.comm_hook}, Dtype::float32));
    if (size.value->count() <= 0 || size.value->count() % element != 0)
      throw UsageError("--all-reduce",
                       fmt::format("{} is no whole number of elements of {} bytes", item, element));
    refuse_repeated("--all-reduce", item, std::ranges::count(result, *size.value) > 0);
    result.push_back(*size.value);
  }
  return result;
}

/// Files that a sweep writes into its folder.
std::vector<NamedOutput> outputs_of(const Sweep& sweep) {
  if (sweep.output.empty()) return {};
  std::vector<std::string> names = {"measurement.json", "measurement.csv", "all_reduce.txt"};
  for (const Configuration& configuration : sweep.configurations)
    names.push_back(timeline_name(configuration.name));
  std::vector<NamedOutput> outputs;
  for (const std::string& name : names)
    outputs.push_back({"--output", (sweep.output / name).string()});
  return outputs;
}

}  // namespace

void add_options(CLI::App& app, SweepArguments& arguments) {
  app.add_option("workload", arguments.workload, "WORKLOAD, as for ddpsim")->required();
  app.add_option("--backend", arguments.backend, backends_help())->capture_default_str();
  app.add_option("--ranks", arguments.ranks,
                 "run this many ranks here, one process each; absent: torchrun, mpirun or srun "
                 "started this process")
      ->check(CLI::Range(1, 1024));
  app.add_option(
         "--ranks-per-process", arguments.ranks_per_process,
         "run this many ranks in each process, one thread each: one process for all GPUs of a node")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  CLI::Option* caps =
      app.add_option("--caps", arguments.caps, "bucket caps to try, in MiB: 1,5,25");
  app.add_option("--views", arguments.views, "gradient_as_bucket_view: no, yes or both")
      ->check(CLI::IsMember({"no", "yes", "both"}))
      ->capture_default_str();
  app.add_option("--all-reduce", arguments.all_reduce,
                 "measure all-reduces of these sizes first: 4KiB,1MiB,16MiB");
  app.add_option(
         "--warmup", arguments.warmup,
         "steps before measuring, because the first two differ; --static-graph adds one more")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  app.add_option("--iterations", arguments.iterations, "steps measured")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--timeout", arguments.timeout_s, "seconds any rank waits for another")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_flag(
      "--busy", arguments.busy,
      "replay compute as an amount of work, which all-reduces can slow down, instead of a wait");
  app.add_flag("--check,!--no-check", arguments.check,
               "after each configuration, run one more step without measuring it and check its "
               "averaged gradients; a wrong gradient ends the job (on by default)");
  add_bucket_options(app, arguments.ddp);
  add_step_options(app, arguments.ddp);
  add_output_options(app, arguments);
  caps->excludes("--bucket-cap-mb")->excludes("--bucket-cap-mb-list");
  app.set_version_flag("--version", "ddpsim-real " DDPSIM_VERSION);
}

void require_backend(const std::string& name) {
  std::vector<std::string> known;
  for (const BackendKind& kind : backend_kinds()) {
    known.push_back(kind.name);
    if (kind.name != name) continue;
    if (!kind.missing.empty())
      throw Unavailable(fmt::format("backend {} is not in this build: {}", name, kind.missing));
    return;
  }
  throw UsageError("--backend", not_one_of(name, known));
}

Sweep sweep_of(const SweepArguments& arguments, std::string command) {
  Sweep sweep;
  sweep.workload = load_workload({.source = arguments.workload}).workload;
  sweep.backend = arguments.backend;
  sweep.configurations = configurations(arguments, sweep.workload);
  sweep.all_reduce_sizes = sizes(arguments);
  sweep.warmup = arguments.warmup;
  sweep.iterations = arguments.iterations;
  sweep.busy_compute = arguments.busy;
  sweep.check = arguments.check;
  sweep.ranks_per_process = arguments.ranks_per_process;
  sweep.timeout = std::chrono::seconds(arguments.timeout_s);
  sweep.output = arguments.output;
  sweep.command = std::move(command);
  return sweep;
}

void require_possible(const Sweep& sweep) {
  if (sweep.busy_compute && sweep.backend == "c10d-gloo")
    throw UsageError("--busy", "c10d-gloo's compute is a wait",
                     "Pass --backend cpu-gloo or cuda-nccl");
  if (sweep.ranks_per_process > 1 && sweep.backend == "c10d-gloo")
    throw UsageError("--ranks-per-process", "c10d-gloo runs as PyTorch does, a process per rank");
  for (const Configuration& configuration : sweep.configurations) {
    const std::string problem =
        backend_refuses(sweep.backend, sweep.workload, configuration.options);
    if (!problem.empty()) throw UsageError(problem);
  }
  const std::vector<NamedOutput> outputs = outputs_of(sweep);
  require_own_outputs(outputs);
  for (const NamedOutput& output : outputs) require_regular_place(output.file);
  std::error_code error;
  const std::filesystem::file_status folder = std::filesystem::status(sweep.output, error);
  if (std::filesystem::exists(folder) && !std::filesystem::is_directory(folder))
    throw UsageError("-o", fmt::format("{} is a file", sweep.output.string()), "Name a folder");
  if (!std::filesystem::exists(folder) &&
      std::filesystem::is_symlink(std::filesystem::symlink_status(sweep.output, error)))
    throw UsageError(
        "-o", fmt::format("{} is a symbolic link that leads to no folder", sweep.output.string()),
        "Name a folder");
}

}  // namespace ddpsim
