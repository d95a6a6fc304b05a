// ddpsim-real: runs the real bucketed reducer over a sweep of bucket caps.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
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
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "job_message.hpp"
#include "own_outputs.hpp"
#include "parse_problem.hpp"
#include "printing.hpp"
#include "rank_threads.hpp"
#include "store.hpp"
#include "sweep.hpp"
#include "sweep_arguments.hpp"
#include "typed_line.hpp"
#include "what_failed.hpp"
#include "world.hpp"

namespace ddpsim {
namespace {

/// Creates the folder of results. Checks that files can be created in it, so that a sweep of hours
/// does not fail at its end.
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

/// The message of an exception from another library, on one line.
std::string one_line(const char* what) {
  const std::string_view text = what;
  return std::string(text.substr(0, text.find('\n')));
}

/// The ranks of this process. If processes are started here, returns in each of them. The folder is
/// created once no other problem is known.
std::vector<World> join(const SweepArguments& arguments) {
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
    throw UsageError("--ranks-per-process",
                     fmt::format("{} ranks are no multiple of {}", ranks, each));
  check_apart([&] { require_machine(arguments.backend, {.local_rank = ranks - 1}); });
  make_folder(arguments.output);
  return ranks_of_process(fork_processes(ranks / each, each), each);
}

/// Reports a failure. If the ranks were started here, the parent process prints one message for
/// all. Otherwise, prints what no other rank has printed.
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

/// Writes data to standard output. Returns the exit code and reports a failure.
int deliver(const std::string& text) {
  try {
    print(text);
    return kOk;
  } catch (const std::exception& error) {
    print_error(std::string("ddpsim-real: ") + error.what());
    return kFailure;
  }
}

int run(const SweepArguments& arguments, std::string command) {
  require_backend(arguments.backend);
  const Sweep sweep = sweep_of(arguments, std::move(command));
  require_possible(sweep);
  static std::vector<World> ranks;
  ranks = join(arguments);
  // gloo throws in a thread of its own, where nobody can catch the exception.
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
               to_string(what_failed(error)).c_str());
    return kFailure;
  }
}

}  // namespace
}  // namespace ddpsim

int main(int argc, char** argv) {
  using namespace ddpsim;
  fill_standard_descriptors();
  // If a file may not grow, the write fails with an error, and the partial file is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  std::string command = "ddpsim-real";
  for (int i = 1; i < argc; ++i) command += ' ' + shell_word(argv[i]);
  CLI::App app("Runs a real bucketed reducer over a sweep of bucket caps and measures it.");
  SweepArguments arguments;
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
    print_error("ddpsim-real: " +
                to_string(parse_problem(error, app, words.subspan(1), "ddpsim-real")));
    return kUsage;
  } catch (const UsageError& error) {
    print_error(std::string("ddpsim-real: ") + error.what());
    return kUsage;
  } catch (const InputError& error) {
    print_error(std::string("ddpsim-real: ") + error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    print_error("ddpsim-real: " + to_string(what_failed(error)));
    return kFailure;
  }
}
