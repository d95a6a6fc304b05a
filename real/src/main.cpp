// ddpsim-real: the real bucketed reducer over a sweep of bucket caps.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "backends.hpp"
#include "communicator.hpp"
#include "ddp_arguments.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/output_file.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_message.hpp"
#include "own_outputs.hpp"
#include "parse_problem.hpp"
#include "printing.hpp"
#include "rank_threads.hpp"
#include "store.hpp"
#include "sweep.hpp"
#include "typed_line.hpp"
#include "what_failed.hpp"
#include "world.hpp"

namespace ddpsim {
namespace {

struct Arguments {
  std::string workload;
  std::string backend = "cpu-gloo";
  std::optional<int> ranks;
  int ranks_per_process = 1;
  std::optional<std::string> caps;
  std::string views = "no";
  std::optional<std::string> all_reduce;
  std::string output;
  int warmup = 3;
  int iterations = 9;
  int timeout_s = 60;
  bool busy = false;
  bool check = true;
  bool json = false;
  bool csv = false;
  DdpArguments ddp;
};

/// "NAME (what it is), …"
std::string backends_help() {
  std::string help;
  for (const BackendKind& kind : backend_kinds())
    help += fmt::format("{}{} ({})", help.empty() ? "" : ", ", kind.name, kind.summary);
  return help;
}

void add_output_options(CLI::App& app, Arguments& arguments) {
  const HelpGroup group(app, kOutputGroup);
  CLI::Option* json =
      app.add_flag("--json", arguments.json, "one JSON document on stdout, nothing else there");
  app.add_flag("--csv", arguments.csv, "CSV on stdout")->excludes(json);
  app.add_option("-o,--output", arguments.output,
                 "folder for measurement.json, measurement.csv and a timeline per configuration");
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("workload", arguments.workload, "WORKLOAD, as for ddpsim")->required();
  app.add_option("--backend", arguments.backend, backends_help())->capture_default_str();
  app.add_option(
         "--ranks", arguments.ranks,
         "run this many ranks here, a process each; absent: this process is one of those that "
         "torchrun, mpirun or srun started")
      ->check(CLI::Range(1, 1024));
  app.add_option(
         "--ranks-per-process", arguments.ranks_per_process,
         "hold so many ranks in each process, a thread each: one process for all GPUs of a node")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  CLI::Option* caps =
      app.add_option("--caps", arguments.caps, "bucket caps to try, in MiB: 1,5,25");
  app.add_option("--views", arguments.views, "gradient_as_bucket_view: no, yes or both")
      ->check(CLI::IsMember({"no", "yes", "both"}))
      ->capture_default_str();
  app.add_option("--all-reduce", arguments.all_reduce,
                 "measure all-reduces of these sizes first: 4KiB,1MiB,16MiB");
  app.add_option("--warmup", arguments.warmup,
                 "steps before measuring; the first two differ, and one more with "
                 "--static-graph, which is added")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  app.add_option("--iterations", arguments.iterations, "steps measured")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--timeout", arguments.timeout_s, "seconds any rank waits for another")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_flag("--busy", arguments.busy,
               "replayed compute is an amount of work, calibrated alone, which all-reduces can "
               "slow, rather than "
               "a wait");
  app.add_flag(
      "--check,!--no-check", arguments.check,
      "after each configuration one further step, unmeasured, whose averages are read back and "
      "compared with what they must be; a wrong one ends the job (on by default)");
  add_bucket_options(app, arguments.ddp);
  add_step_options(app, arguments.ddp);
  add_output_options(app, arguments);
  caps->excludes("--bucket-cap-mb")->excludes("--bucket-cap-mb-list");
  app.set_version_flag("--version", "ddpsim-real " DDPSIM_VERSION);
}

/// What is measured twice would be told apart by nothing.
void refuse_repeated(const char* option, std::string_view text, bool repeated) {
  if (repeated) throw UsageError(fmt::format("{}: {} is there twice", option, text));
}

std::vector<Configuration> configurations(const Arguments& arguments, const Workload& workload) {
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
        throw UsageError(
            fmt::format("--comm-hook {}: ddpsim-real runs none, fp16 and bf16", word_of(hook)));
      if (configuration.options.comm_hook_min_mb > 0)
        throw UsageError("--comm-hook-min-mb: ddpsim-real casts every bucket; leave it out");
      if (configuration.options.optimizer_in_backward)
        throw UsageError("--apply-optimizer-in-backward: ddpsim-real steps after backward");
      result.push_back(std::move(configuration));
    }
  }
  return result;
}

std::vector<Bytes> sizes(const Arguments& arguments) {
  std::vector<Bytes> result;
  if (!arguments.all_reduce) return result;
  for (const std::string_view item : split(*arguments.all_reduce, ',')) {
    const Parsed<Bytes> size = parse_bytes(item);
    if (!size.value) throw UsageError("--all-reduce: " + size.problem);
    const std::int64_t element =
        element_size(wire_dtype({.comm_hook = arguments.ddp.comm_hook}, Dtype::float32));
    if (size.value->count() <= 0 || size.value->count() % element != 0)
      throw UsageError(fmt::format("--all-reduce: {} is no whole number of elements of {} bytes",
                                   item, element));
    refuse_repeated("--all-reduce", item, std::ranges::count(result, *size.value) > 0);
    result.push_back(*size.value);
  }
  return result;
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
  throw UsageError("--backend: " + not_one_of(name, known));
}

/// The files that a sweep writes into its folder.
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

/// What can be told before any rank starts.
void require_possible(const Sweep& sweep) {
  if (sweep.busy_compute && sweep.backend == "c10d-gloo")
    throw UsageError("--busy: c10d-gloo's compute is a wait; pass --backend cpu-gloo or cuda-nccl");
  if (sweep.ranks_per_process > 1 && sweep.backend == "c10d-gloo")
    throw UsageError("--ranks-per-process: c10d-gloo runs as PyTorch does, a process per rank");
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
    throw UsageError(fmt::format("-o: {} is a file; name a folder", sweep.output.string()));
  if (!std::filesystem::exists(folder) &&
      std::filesystem::is_symlink(std::filesystem::symlink_status(sweep.output, error)))
    throw UsageError(fmt::format("-o: {} is a symbolic link that leads to no folder; name a folder",
                                 sweep.output.string()));
}

/// The folder of results. Whether files can be made in it is known before a sweep of hours ends.
void make_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && access(folder.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (error)
    throw std::runtime_error(fmt::format("-o: cannot write into the folder {}: {}. Name another",
                                         folder, error.message()));
}

Sweep sweep_of(const Arguments& arguments, std::string command) {
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

/// What somebody else threw, on one line.
std::string one_line(const char* what) {
  const std::string_view text = what;
  return std::string(text.substr(0, text.find('\n')));
}

/// The ranks of this process; where processes are to be started here it returns in each of them.
/// The folder is made once nothing is known to stand in the way.
std::vector<World> join(const Arguments& arguments) {
  const std::optional<World> started = arguments.ranks ? std::nullopt : world_from_environment();
  const int each = arguments.ranks_per_process;
  if (started) {
    std::vector<World> ranks = ranks_of_process(*started, each);
    require_machine(arguments.backend, ranks.back());
    if (started->rank == 0) {
      make_folder(arguments.output);
      const World& first = ranks.front();
      StoreServer::serve_apart(listen_on(first.host, first.port), first.ranks,
                               std::chrono::seconds(arguments.timeout_s), first.token);
      ranks.front().served = true;
    }
    return ranks;
  }
  const int ranks = arguments.ranks.value_or(each);
  if (ranks % each != 0)
    throw UsageError(
        fmt::format("--ranks-per-process: {} ranks are no multiple of {}", ranks, each));
  check_apart([&] { require_machine(arguments.backend, {.local_rank = ranks - 1}); });
  make_folder(arguments.output);
  return ranks_of_process(fork_processes(ranks / each, each), each);
}

/// Of ranks that were started here the process that started them says one thing for all; of others, what has not been said.
void say_failed(const World& world, int rank, JobMessage::Cause cause, const char* reason) {
  if (world.launched && cause == JobMessage::Cause::heard) return;
  const std::string text = fmt::format("ddpsim-real: rank {}: {}", rank, one_line(reason));
  if (world.message != nullptr) return world.message->leave(cause, text);
  print_error(text);
}

std::string with_files(std::string text, const Sweep& sweep, const Measurement& measurement) {
  if (sweep.output.empty()) return text;
  text += fmt::format("Wrote measurement.json, measurement.csv, {}{} timelines to {}\n",
                      measurement.all_reduces.empty() ? "" : "all_reduce.txt, ",
                      measurement.configurations.size(), sweep.output.string());
  return text;
}

/// Data goes to standard output. Returns the exit code; a failure is told.
int deliver(const std::string& text) {
  try {
    print(text);
    return kOk;
  } catch (const std::exception& error) {
    print_error(std::string("ddpsim-real: ") + error.what());
    return kFailure;
  }
}

int run(const Arguments& arguments, std::string command) {
  require_backend(arguments.backend);
  const Sweep sweep = sweep_of(arguments, std::move(command));
  require_possible(sweep);
  static std::vector<World> ranks;
  ranks = join(arguments);
  // gloo throws in a thread of its own, where nobody can catch it.
  std::set_terminate([] {
    std::string reason = "internal error";
    try {
      if (const std::exception_ptr thrown = std::current_exception())
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      reason = one_line(error.what());
    } catch (...) {
    }
    print_error(fmt::format("ddpsim-real: {}: {}", name_of_ranks(ranks), reason));
    std::_Exit(kFailure);
  });
  struct Store {
    ~Store() { StoreServer::await_apart(); }
  } const store;
  try {
    const Measurement measurement =
        ranks.size() == 1 ? run_sweep(sweep, ranks.front()) : run_threads(sweep, ranks);
    if (ranks.front().rank != 0) return kOk;
    const std::string text = arguments.json ? measurement_json(measurement)
                             : arguments.csv
                                 ? measurement_csv(measurement)
                                 : with_files(measurement_text(measurement), sweep, measurement);
    return deliver(text);
  } catch (const RankFailed& failed) {
    say_failed(ranks.front(), failed.rank(), failed.cause(), failed.what());
    if (!failed.all_ended()) std::_Exit(kFailure);
    return kFailure;
  } catch (const SaidElsewhere& ended) {
    say_failed(ranks.front(), ranks.front().rank, JobMessage::Cause::heard, ended.what());
    return kFailure;
  } catch (const JobEnded& lost) {
    say_failed(ranks.front(), ranks.front().rank, JobMessage::Cause::lost, lost.what());
    return kFailure;
  } catch (const std::exception& error) {
    say_failed(ranks.front(), ranks.front().rank, JobMessage::Cause::own,
               what_failed(error).c_str());
    return kFailure;
  }
}

}  // namespace
}  // namespace ddpsim

int main(int argc, char** argv) {
  using namespace ddpsim;
  fill_standard_descriptors();
  // A file that may not grow: the write says so, and what was begun is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  std::string command = "ddpsim-real";
  for (int i = 1; i < argc; ++i) command += ' ' + shell_word(argv[i]);
  CLI::App app("Runs a real bucketed reducer over a sweep of bucket caps and measures it.");
  Arguments arguments;
  try {
    set_help_format(app);
    add_options(app, arguments);
    app.parse(argc, argv);
    return run(arguments, std::move(command));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream told;
      app.exit(error, told, told);
      return deliver(told.str());
    }
    const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
    print_error("ddpsim-real: " + parse_problem(error, app, words.subspan(1), "ddpsim-real"));
    return kUsage;
  } catch (const UsageError& error) {
    print_error(std::string("ddpsim-real: ") + error.what());
    return kUsage;
  } catch (const InputError& error) {
    print_error(std::string("ddpsim-real: ") + error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    print_error("ddpsim-real: " + what_failed(error));
    return kFailure;
  }
}
