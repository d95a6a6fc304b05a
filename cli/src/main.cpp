#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "commands.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "exit_code.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

/// The word that was not understood and the nearest one that would have been.
std::string what_was_meant(const CLI::ParseError& error, const CLI::App& app, int argc,
                           char** argv) {
  std::vector<std::string> known;
  const CLI::App* command = nullptr;
  for (const CLI::App* subcommand : app.get_subcommands({})) {
    known.push_back(subcommand->get_name());
    if (subcommand->parsed() || (argc > 1 && subcommand->get_name() == argv[1]))
      command = subcommand;
  }
  if (command == nullptr) {
    if (argc < 2) return "which command? `ddpsim --help` lists them";
    if (argv[1][0] == '-')
      return fmt::format("\"{}\" is no option before a command. `ddpsim --help` lists commands",
                         argv[1]);
    return fmt::format("\"{}\" is not a command. {}", argv[1],
                       did_you_mean(argv[1], known, "`ddpsim --help` lists them"));
  }
  known.clear();
  for (const CLI::Option* option : command->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--") || std::find(known.begin(), known.end(), word) != known.end())
      continue;
    return fmt::format(
        "\"{}\" is not an option of {}. {}", word, command->get_name(),
        did_you_mean(word, known,
                     fmt::format("`ddpsim {} --help` lists them", command->get_name())));
  }
  if (error.get_name() == "ArgumentMismatch")
    for (const CLI::Option* option : command->get_options())
      if (option->get_expected_max() == 1 && option->count() > 1)
        return fmt::format("{}: given {} times; it holds once", option->get_name(),
                           option->count());
  return "";
}

int run(int argc, char** argv) {
  CLI::App app("Discrete-event simulator of PyTorch DistributedDataParallel training steps",
               "ddpsim");
  app.set_version_flag("--version", "ddpsim " DDPSIM_VERSION);
  app.require_subcommand(1);
  std::function<int()> action;
  add_simulate(app, action);
  add_tune(app, action);
  add_compare(app, action);
  add_buckets(app, action);
  add_allreduce(app, action);
  add_calibrate(app, action);
  add_import(app, action);
  add_topo(app, action);
  add_validate(app, action);
  add_list(app, action);
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    const std::string suggestion = what_was_meant(error, app, argc, argv);
    print_error("ddpsim: " + (suggestion.empty() ? std::string(error.what()) : suggestion));
    return kUsage;
  } catch (const UsageError& error) {
    print_error(fmt::format("ddpsim: {}", error.what()));
    return kUsage;
  } catch (const InputError& error) {
    print_error(fmt::format("ddpsim: {}", error.what()));
    return kBadInput;
  }
}

}  // namespace
}  // namespace ddpsim

int main(int argc, char** argv) {
  try {
    return ddpsim::run(argc, argv);
  } catch (const std::exception& error) {
    ddpsim::print_error(std::string("ddpsim: ") + error.what());
    return ddpsim::kFailure;
  }
}
