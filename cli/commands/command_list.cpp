#include "command_list.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/formats/display_width.hpp"
#include "documents.hpp"
#include "help_format.hpp"
#include "help_group.hpp"

namespace ddpsim {
namespace {

bool is_switch(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

/// Returns the words that an option of add_word_option takes; empty for any other option.
std::vector<std::string> choices_of(const CLI::Option& option) {
  return option.get_option_text().empty() ? std::vector<std::string>()
                                          : CLI::detail::split(option.get_option_text(), '|');
}

std::string long_name(const CLI::Option& option) {
  return "--" + option.get_lnames().front();
}

std::string short_name(const CLI::Option& option) {
  return option.get_snames().empty() ? "" : "-" + option.get_snames().front();
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* one) { return one->get_positional(); });
}

/// Returns the example of a command without its heading.
std::string example_of(const CLI::App& command) {
  const std::string footer = command.get_footer();
  return footer.substr(footer.find_last_of('\n') + 1).substr(2);
}

std::string usage_of(const CLI::Option& option) {
  std::string usage = long_name(option);
  if (!option.get_snames().empty()) usage = short_name(option) + ", " + usage;
  if (is_switch(option)) return usage;
  usage +=
      ' ' + (option.get_option_text().empty() ? kind_of_value(option) : option.get_option_text());
  return usage + (is_repeated(option) ? " ..." : "");
}

struct ShownOption {
  const CLI::Option& option;
};

std::vector<ShownOption> shown(const std::vector<const CLI::Option*>& options) {
  std::vector<ShownOption> all;
  for (const CLI::Option* one : options) all.push_back({*one});
  return all;
}

const Described<ShownOption>& described_positional() {
  using Shown = ShownOption;
  static const auto described =
      Described<Shown>("Positional", "an argument of a command", JsonWriter::Layout::line)
          .text(
              "name", [](const Shown& of) { return of.option.get_name(); },
              "the argument's name in the usage")
          .text(
              "summary", [](const Shown& of) { return of.option.get_description(); },
              "what the argument is")
          .boolean(
              "required", [](const Shown& of) { return of.option.get_required(); },
              "whether the argument cannot be left out")
          .boolean(
              "repeated", [](const Shown& of) { return is_repeated(of.option); },
              "whether several values may be given");
  return described;
}

const Described<ShownOption>& described_option() {
  using Shown = ShownOption;
  static const auto described =
      Described<Shown>("Option", "an option of a command", JsonWriter::Layout::line)
          .text(
              "name", [](const Shown& of) { return long_name(of.option); },
              "the option with its two hyphens")
          .text("short", unless_empty([](const Shown& of) { return short_name(of.option); }),
                "the option's short spelling; null: none")
          .text(
              "group", [](const Shown& of) { return heading_of(of.option); },
              "the option's heading in --help-all")
          .text(
              "summary", [](const Shown& of) { return of.option.get_description(); },
              "what the option does")
          .text("value", unless_empty([](const Shown& of) {
                  return is_switch(of.option) ? std::string() : kind_of_value(of.option);
                }),
                "the kind of value, such as TEXT, INT, UINT, FLOAT, FILE or a name; null: a "
                "switch, which takes no value")
          .texts("choices", unless_empty([](const Shown& of) { return choices_of(of.option); }),
                 "the words that the option takes; null: any value")
          .boolean(
              "required", [](const Shown& of) { return of.option.get_required(); },
              "whether the option cannot be left out")
          .boolean(
              "repeated",
              [](const Shown& of) { return !is_switch(of.option) && is_repeated(of.option); },
              "whether the option may be given, or hold a value, more than once")
          .boolean(
              "common", [](const Shown& of) { return is_common(of.option); },
              "whether --help shows the option even if not all options fit");
  return described;
}

struct ShownCommand {
  const CLI::App& command;
};

const Described<ShownCommand>& described_command() {
  using Shown = ShownCommand;
  static const auto described =
      Described<Shown>("Command", "a command of the program")
          .text(
              "name", [](const Shown& of) { return of.command.get_name(); }, "the command's name")
          .text(
              "summary", [](const Shown& of) { return of.command.get_description(); },
              "what the command does, in one sentence")
          .text(
              "example", [](const Shown& of) { return example_of(of.command); },
              "an example that you can run")
          .list(
              "positionals", [](const Shown& of) { return shown(positionals_of(of.command)); },
              described_positional(), "arguments in their order")
          .list(
              "options", [](const Shown& of) { return shown(options_by_heading(of.command)); },
              described_option(), "options as --help-all lists them, heading by heading");
  return described;
}

std::vector<ShownCommand> commands_of(const CLI::App& program) {
  std::vector<ShownCommand> all;
  for (const CLI::App* command : program.get_subcommands({})) all.push_back({*command});
  return all;
}

const Described<CLI::App>& described_commands() {
  static const auto described =
      Described<CLI::App>("CommandsResult",
                          "what the program offers: commands, arguments and options")
          .constant("schema", "ddpsim.commands/1", "which document this is")
          .text(
              "version", [](const CLI::App&) { return DDPSIM_VERSION; },
              "the version of the program")
          .list("commands", &commands_of, described_command(), "commands as --help lists them");
  return described;
}

}  // namespace

std::string commands_text(const CLI::App& program) {
  struct Row {
    std::string usage;
    std::string summary;
  };
  std::vector<Row> rows;
  for (const CLI::App* command : program.get_subcommands({})) {
    rows.push_back(
        {command->get_name() + usage_of_arguments(*command), command->get_description()});
    for (const CLI::Option* option : options_by_heading(*command))
      rows.push_back({"  " + usage_of(*option), option->get_description()});
  }
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, display_width(row.usage));
  std::string text;
  for (const Row& row : rows)
    text += row.usage + std::string(width - display_width(row.usage) + 2, ' ') + row.summary + '\n';
  return text;
}

const ObjectType& commands_document() {
  return described_commands().type();
}

std::string commands_json(const CLI::App& program) {
  return described_commands().text_of(program);
}

}  // namespace ddpsim
