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
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "commands.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
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

/// The word that was not understood and the nearest one that would have been.
std::string what_was_meant(const CLI::ParseError& error, const CLI::App& app, int argc,
                           char** argv) {
  if (argc < 2) return "which command? `ddpsim --help` lists them";
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
    return fmt::format("\"{}\" is no option before a command. `ddpsim --help` lists commands",
                       first);
  return fmt::format("\"{}\" is not a command. {}", first,
                     did_you_mean(first, known, "`ddpsim --help` lists them"));
}

int run(int argc, char** argv) {
  CLI::App app("Discrete-event simulator of PyTorch DistributedDataParallel training steps",
               "ddpsim");
  set_help_format(app);
  app.set_version_flag("--version", "ddpsim " DDPSIM_VERSION);
  app.require_subcommand(1);
  add_example(app, "ddpsim tune resnet50-v100-b32 2xv100-nvlink");
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
    std::vector<std::string> words(argv + 1, argv + argc);
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(words);
    require_own_outputs(*app.get_subcommands().front());
    return action();
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream told;
    const int code = app.exit(request, told, told);
    print(told.str());
    return code;
  } catch (const CLI::ParseError& error) {
    print_error("ddpsim: " + what_was_meant(error, app, argc, argv));
    return kUsage;
  } catch (const UsageError& error) {
    print_error(fmt::format("ddpsim: {}", error.what()));
    return kUsage;
  } catch (const InputError& error) {
    const std::span line(argv, static_cast<std::size_t>(argc));
    const auto parsed = app.get_subcommands();  // none, where a study could not be read
    const std::optional<Misplaced> misplaced =
        parsed.empty() ? std::nullopt : find_misplaced(*parsed.front(), line, error.what());
    print_error(fmt::format("ddpsim: {}", misplaced ? misplaced->sentence : error.what()));
    return misplaced && misplaced->swapped ? kUsage : kBadInput;
  }
}

/// One step after the other is simulated in memory as large as the one before: what was freed is kept, not given back to
/// the system page by page and cleared again.
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
  std::signal(
      SIGXFSZ,
      SIG_IGN);  // a file that may not grow: the write says so, and what was begun is removed
  try {
    return ddpsim::run(argc, argv);
  } catch (const std::exception& error) {
    ddpsim::print_error("ddpsim: " + ddpsim::what_failed(error));
    return ddpsim::kFailure;
  }
}
