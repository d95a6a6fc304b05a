#include "command_list.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "ddpsim/formats/display_width.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "help_group.hpp"

namespace ddpsim {
namespace {

bool is_switch(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

/// May be given, or hold, more than one value.
bool is_repeated(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 ||
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

/// Words of add_word_option; of other options none.
std::vector<std::string> choices_of(const CLI::Option& option) {
  return option.get_option_text().empty() ? std::vector<std::string>()
                                          : CLI::detail::split(option.get_option_text(), '|');
}

/// TEXT, INT, FLOAT, FILE, NAME[:KEY=VALUE,…]; without what CLI11 adds behind a colon of the values it checks for, which its
/// versions word differently.
std::string value_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  int depth = 0;
  for (std::size_t i = 0; i < type.size(); ++i) {
    if (type[i] == '[') ++depth;
    if (type[i] == ']') --depth;
    if (type[i] == ':' && depth == 0) return type.substr(0, i);
  }
  return type;
}

/// Versions of CLI11 write the heading of what stands under none in other letters.
std::string group_of(const CLI::Option& option) {
  return option.get_group() == "OPTIONS" ? "Options" : option.get_group();
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

/// The line one may type, without the heading that `--help` shows it under.
std::string example_of(const CLI::App& command) {
  const std::string footer = command.get_footer();
  return footer.substr(footer.find_last_of('\n') + 1).substr(2);
}

std::string usage_of(const CLI::App& command) {
  std::string usage = command.get_name();
  for (const CLI::Option* one : positionals_of(command)) {
    const std::string name = one->get_name() + (is_repeated(*one) ? "..." : "");
    usage += one->get_required() ? ' ' + name : " [" + name + ']';
  }
  return usage;
}

std::string usage_of(const CLI::Option& option) {
  std::string usage = long_name(option);
  if (!option.get_snames().empty()) usage = short_name(option) + ", " + usage;
  if (is_switch(option)) return usage;
  usage += ' ' + (option.get_option_text().empty() ? value_of(option) : option.get_option_text());
  return usage + (is_repeated(option) ? " ..." : "");
}

void write_positional(JsonWriter& json, const CLI::Option& positional) {
  json.begin_object(JsonWriter::Layout::line);
  json.key("name").string(positional.get_name());
  json.key("summary").string(positional.get_description());
  json.key("required").boolean(positional.get_required());
  json.key("repeated").boolean(is_repeated(positional));
  json.end_object();
}

void write_option(JsonWriter& json, const CLI::Option& option) {
  const bool takes_none = is_switch(option);
  const std::vector<std::string> choices = choices_of(option);
  json.begin_object(JsonWriter::Layout::line);
  json.key("name").string(long_name(option));
  json.key("short").string_or_null(short_name(option));
  json.key("group").string(group_of(option));
  json.key("summary").string(option.get_description());
  json.key("value").string_or_null(takes_none ? "" : value_of(option));
  json.key("choices");
  choices.empty() ? json.null() : json.strings(choices);
  json.key("required").boolean(option.get_required());
  json.key("repeated").boolean(!takes_none && is_repeated(option));
  json.end_object();
}

}  // namespace

std::string commands_text(const CLI::App& program) {
  struct Row {
    std::string usage;
    std::string summary;
  };
  std::vector<Row> rows;
  for (const CLI::App* command : program.get_subcommands({})) {
    rows.push_back({usage_of(*command), command->get_description()});
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

std::string commands_json(const CLI::App& program) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.commands/1");
  json.key("version").string(DDPSIM_VERSION);
  json.key("commands").begin_array();
  for (const CLI::App* command : program.get_subcommands({})) {
    json.begin_object();
    json.key("name").string(command->get_name());
    json.key("summary").string(command->get_description());
    json.key("example").string(example_of(*command));
    json.key("positionals").begin_array();
    for (const CLI::Option* one : positionals_of(*command)) write_positional(json, *one);
    json.end_array();
    json.key("options").begin_array();
    for (const CLI::Option* one : options_by_heading(*command)) write_option(json, *one);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
