#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "commands.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/output_file.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/reports/error_report.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "misplaced.hpp"
#include "own_outputs.hpp"
#include "parse_problem.hpp"
#include "printing.hpp"
#include "terminal.hpp"
#include "what_failed.hpp"

namespace ddpsim {
namespace {

/// Returns the unknown word and the nearest known one.
Diagnostic what_was_meant(const CLI::ParseError& error, const CLI::App& app, int argc,
                          char** argv) {
  const auto of_command = [](std::string message, Hint hint) {
    return Diagnostic{
        .file = "", .where = "", .message = std::move(message), .hint = std::move(hint)};
  };
  if (argc < 2) return of_command("which command? `ddpsim --help` lists them", {});
  const std::string first = argv[1];
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == first)
      return parse_problem(error, *command,
                           std::span(argv, static_cast<std::size_t>(argc)).subspan(2),
                           "ddpsim " + first);
    known.push_back(command->get_name());
  }
  if (first.starts_with('-'))
    return {.file = "",
            .where = first,
            .message = "ddpsim has no such option without a command",
            .hint = "`ddpsim --help` lists the commands"};
  return of_command(fmt::format("\"{}\" is not a command", first),
                    did_you_mean(first, known, "`ddpsim --help` lists them"));
}

/// Prints an error and returns the exit code. `words` is the command line, in which --json is found even if parsing failed.
int report(const ErrorReport& error, std::span<char* const> words) {
  print_error("ddpsim: " + to_string(error.diagnostic));
  const bool json = std::ranges::any_of(
      words, [](std::string_view word) { return word == "--json" || word == "--json=true"; });
  if (json) {
    try {
      print(error_json(error));
    } catch (const std::runtime_error&) {  // standard error has the message
    }
  }
  return error.exit_code;
}

/// Returns the report of an input error, which may be caused by a mistake on the command line.
ErrorReport report_of(const InputError& error, const CLI::App& app, std::span<char* const> words) {
  // Empty if a study could not be read.
  const auto parsed = app.get_subcommands();
  std::optional<Misplaced> misplaced;
  if (!parsed.empty()) misplaced = find_misplaced(*parsed.front(), words, error.what());
  if (!misplaced) return {kBadInput, error.diagnostic()};
  return {misplaced->swapped ? kUsage : kBadInput,
          {.file = "",
           .where = "",
           .message = misplaced->complaint.message,
           .hint = misplaced->complaint.hint}};
}

int run(int argc, char** argv) {
  CLI::App app("Discrete-event simulator of PyTorch DistributedDataParallel training steps",
               "ddpsim");
  set_help_format(app);
  app.set_version_flag("--version", "ddpsim " DDPSIM_VERSION);
  app.require_subcommand(1);
  add_example(app, "ddpsim tune resnet50-v100-b32 2xv100-nvlink");
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  std::function<int()> action;
  add_simulate(app, action);
  add_tune(app, action);
  add_advise(app, action);
  add_compare(app, action);
  add_sweep(app, action);
  add_diff(app, action);
  add_buckets(app, action);
  add_allreduce(app, action);
  add_topo(app, action);
  add_import(app, action);
  add_calibrate(app, action);
  add_validate(app, action);
  add_list(app, action);
  try {
    // CLI11 takes the last word first.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));
    require_own_outputs(*app.get_subcommands().front());
    return action();
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream told;
    const int code = app.exit(request, told, told);
    print(told.str());
    return code;
  } catch (const CLI::ParseError& error) {
    return report({kUsage, what_was_meant(error, app, argc, argv)}, words);
  } catch (const UsageError& error) {
    return report({kUsage, error.diagnostic()}, words);
  } catch (const InputError& error) {
    return report(report_of(error, app, words), words);
  } catch (const OutputError& error) {
    return report({kFailure, error.diagnostic()}, words);
  } catch (const std::exception& error) {
    const Complaint failed = what_failed(error);
    return report(
        {kFailure, {.file = "", .where = "", .message = failed.message, .hint = failed.hint}},
        words);
  }
}

/// Keeps freed memory for the next simulated step, which needs as much as the last one. Otherwise it would be returned to the system and
/// cleared again page by page.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace
}  // namespace ddpsim

int main(int argc, char** argv) {
  ddpsim::fill_standard_descriptors();
  ddpsim::keep_freed_memory();
  // If a file may not grow, the write then fails with an error, and the unfinished file is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return ddpsim::run(argc, argv);
  } catch (const std::exception& error) {  // also while reporting one
    ddpsim::print_error(std::string("ddpsim: ") + error.what());
    return ddpsim::kFailure;
  }
}
