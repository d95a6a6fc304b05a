#include "typed_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "help_group.hpp"

namespace ddpsim {
namespace {

/// Returns arguments, then options, in the order of `--help`.
std::vector<const CLI::Option*> in_order_of_help(const CLI::App& command) {
  std::vector<const CLI::Option*> options =
      command.get_options([](const CLI::Option* one) { return one->get_positional(); });
  for (const CLI::Option* option : options_by_heading(command)) options.push_back(option);
  return options;
}

std::string with_value(const std::string& name, const std::string& value) {
  if (!name.starts_with('-')) return shell_word(value);
  // After '=', a value with a dash is not read as an option.
  return name + (value.starts_with('-') ? '=' : ' ') + shell_word(value);
}

bool is_flag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

std::string text_of(const CLI::Option& option) {
  const std::string name = option.get_name();
  const CLI::results_t& values = option.results();
  if (is_flag(option))  // or --flag=false
    return values.back() == "true" ? name : name + '=' + shell_word(values.back());
  const auto per_use = static_cast<std::size_t>(std::max(1, option.get_items_expected_min()));
  std::string text;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (k > 0) text += ' ';
    text += k % per_use == 0 ? with_value(name, values[k]) : shell_word(values[k]);
  }
  return text;
}

}  // namespace

std::string shell_word(const std::string& word) {
  const bool plain = word.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                         "@%+=:,./_-") == std::string::npos;
  if (plain && !word.empty()) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

TypedLine::TypedLine(const CLI::App& command) : program_(command.get_parent()) {
  for (const CLI::Option* option : in_order_of_help(command))
    if (option->count() > 0 && option->get_group() != kOutputGroup)
      parts_.push_back({option->get_name(), option->get_group(), text_of(*option),
                        is_flag(*option) ? std::vector<std::string>() : option->results()});
}

void TypedLine::set(const std::string& name, const std::optional<std::string>& value) {
  std::erase_if(parts_, [&](const Part& part) { return part.name == name; });
  if (value) parts_.push_back({name, "", with_value(name, *value), {*value}});
}

std::optional<std::string> TypedLine::first_of(const std::string& heading) const {
  const auto found = std::ranges::find(parts_, heading, &Part::heading);
  return found == parts_.end() ? std::nullopt : std::optional(found->name);
}

std::vector<TypedLine::Given> TypedLine::given(const std::vector<std::string>& commands) const {
  std::vector<Given> all;
  for (const Part& part : parts_)
    if (std::ranges::all_of(commands, [&](const std::string& command) {
          return program_->get_subcommand(command)->get_option_no_throw(part.name) != nullptr;
        }))
      all.push_back({part.name, part.values});
  return all;
}

std::string TypedLine::for_command(const std::string& next) const {
  std::string arguments;
  std::string options;
  bool like_an_option = false;
  for (const CLI::Option* option : in_order_of_help(*program_->get_subcommand(next))) {
    const auto part = std::ranges::find(parts_, option->get_name(), &Part::name);
    if (part == parts_.end()) continue;
    (option->get_positional() ? arguments : options) += ' ' + part->text;
    like_an_option = like_an_option || (option->get_positional() &&
                                        std::ranges::any_of(part->values, [](const auto& value) {
                                          return value.starts_with('-');
                                        }));
  }
  const std::string line = program_->get_name() + ' ' + next;
  return like_an_option ? line + options + " --" + arguments : line + arguments + options;
}

}  // namespace ddpsim
