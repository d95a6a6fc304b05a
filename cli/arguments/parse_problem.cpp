#include "parse_problem.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "ddpsim/formats/suggest.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

/// Splits a message of CLI11, which begins with the name of the option.
Diagnostic parted(const std::string& text, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string head = option->get_name() + ": ";
    if (text.starts_with(head))
      return {.file = "", .where = option->get_name(), .message = text.substr(head.size())};
  }
  return {.file = "", .where = "", .message = text};
}

}  // namespace

Diagnostic parse_problem(const CLI::ParseError& error, const CLI::App& command,
                         std::span<char* const> words, const std::string& called) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (std::string word : words) {
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--") || std::ranges::find(known, word) != known.end()) continue;
    return {.file = "",
            .where = word,
            .message = fmt::format("{} has no such option", called),
            .hint = did_you_mean(word, known, fmt::format("`{} --help-all` lists them", called))};
  }
  if (error.get_name() == "ArgumentMismatch")
    for (const CLI::Option* option : command.get_options())
      if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw &&
          option->get_expected_max() == 1 && option->count() > 1)
        return {.file = "",
                .where = option->get_name(),
                .message = fmt::format("given {} times; it holds once", option->count())};
  Diagnostic problem = parted(error.what(), command);
  if (const auto* unknown = dynamic_cast<const UnknownWord*>(&error))
    problem.hint = unknown->complaint().hint;
  const bool wants_cluster =
      problem.message.starts_with("CLUSTER") || problem.message.starts_with("--cluster");
  if (error.get_name() == "RequiredError" && wants_cluster)
    problem.message += ": a bundled name (`ddpsim list` shows them), a file, or one line";
  return problem;
}

}  // namespace ddpsim
