#include "help_format.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

#include "ddpsim/formats/display_width.hpp"
#include "help_group.hpp"

namespace ddpsim {
namespace {

constexpr std::ptrdiff_t kMostLines = 40;
constexpr std::size_t kWidth = 80;
// Where descriptions begin.
constexpr std::size_t kOptionColumn = 28;
constexpr std::size_t kNameColumn = 14;

/// Returns a row: `name`, and the words of `description` from `column` on.
std::string two_columns(const std::string& name, const std::string& description,
                        std::size_t column) {
  std::string text = "  " + name;
  std::size_t used = display_width(text);
  if (used >= column) {  // at least one space between the two
    text += '\n';
    used = 0;
  }
  std::istringstream words(description);
  for (std::string word; words >> word;) {
    if (used > column && used + 1 + display_width(word) > kWidth) {
      text += '\n';
      used = 0;
    }
    const std::size_t gap = used < column ? column - used : 1;
    text += std::string(gap, ' ') + word;
    used += gap + display_width(word);
  }
  return text + '\n';
}

/// Returns the value as the help shows it: its choices, or what kind it is.
std::string shown_value(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  if (!option.get_option_text().empty()) return ' ' + option.get_option_text();
  std::string kind = kind_of_value(option);
  if (kind == "INT" || kind == "UINT") kind = "N";
  if (kind == "FLOAT") kind = "NUMBER";
  return ' ' + kind + (option.get_items_expected_max() > 1 ? " ..." : "");
}

std::string row_of(const CLI::Option& option) {
  std::string description = option.get_description();
  if (option.get_required()) description += " (required)";
  if (!option.get_default_str().empty())
    description += fmt::format(" (default: {})", option.get_default_str());
  return two_columns(option.get_name(false, true) + shown_value(option), description,
                     kOptionColumn);
}

std::string arguments_of(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* one :
       command.get_options([](const CLI::Option* any) { return any->get_positional(); }))
    text += two_columns(one->get_name(), one->get_description(), kNameColumn);
  return text.empty() ? "" : "\nArguments:\n" + text;
}

std::string all_options(const CLI::App& command) {
  std::string text;
  std::string heading;
  for (const CLI::Option* option : options_by_heading(command)) {
    if (command.get_parent() == nullptr && option == command.get_help_all_ptr()) continue;
    if (heading_of(*option) != heading) {
      heading = heading_of(*option);
      text += fmt::format("\n{}:\n", heading);
    }
    text += row_of(*option);
  }
  return text;
}

std::string common_options(const CLI::App& command) {
  std::string text = "\nCommon options:\n";
  for (const CLI::Option* option : options_by_heading(command))
    if (is_common(*option) && option != command.get_help_all_ptr()) text += row_of(*option);
  return text;
}

std::string footer_of(const CLI::App& app) {
  return app.get_footer().empty() ? "" : fmt::format("\n{}\n", app.get_footer());
}

std::string help_of_program(const CLI::App& program, const std::string& name) {
  std::string text = fmt::format("{}\nUsage: {} COMMAND [OPTIONS] ARGUMENTS...\n\nCommands:\n",
                                 program.get_description(), name);
  for (const CLI::App* command : program.get_subcommands({}))
    text += two_columns(command->get_name(), command->get_description(), kNameColumn);
  return text + all_options(program) + footer_of(program) +
         fmt::format("\nHelp on a command: {} COMMAND --help\n", name);
}

/// Writes the whole text itself, because each version of CLI11 lays it out differently.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (!app->get_subcommands({}).empty()) return help_of_program(*app, name);
    const std::string head = fmt::format("{}\nUsage: {} [OPTIONS]{}\n{}", app->get_description(),
                                         name, usage_of_arguments(*app), arguments_of(*app));
    std::string all = head + all_options(*app) + footer_of(*app);
    const bool fits = std::ranges::count(all, '\n') <= kMostLines;
    if (fits || mode == CLI::AppFormatMode::All || app->get_parent() == nullptr) return all;
    return head + common_options(*app) + footer_of(*app) +
           fmt::format("\nMore options: {} --help-all\n", name);
  }
};

}  // namespace

void set_help_format(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormat>());
  app.set_help_flag("-h,--help", "Print help and exit");
  // Commands inherit it. The program itself does not show it.
  app.set_help_all_flag("--help-all", "Print help with all options and exit");
}

void add_example(CLI::App& command, const std::string& line) {
  command.footer("Example:\n  " + line);
}

bool is_repeated(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 ||
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

std::string kind_of_value(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  for (const char* number : {"INT", "UINT", "FLOAT"})
    if (type.starts_with(std::string(number) + ':')) return number;
  return type;
}

std::string usage_of_arguments(const CLI::App& command) {
  std::string usage;
  for (const CLI::Option* one :
       command.get_options([](const CLI::Option* any) { return any->get_positional(); })) {
    const std::string name = one->get_name() + (is_repeated(*one) ? "..." : "");
    usage += one->get_required() ? ' ' + name : " [" + name + ']';
  }
  return usage;
}

}  // namespace ddpsim
