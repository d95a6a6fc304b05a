#include "parse_problem.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "ddpsim/formats/suggest.hpp"

namespace ddpsim {

std::string parse_problem(const CLI::ParseError& error, const CLI::App& command,
                          std::span<char* const> words, const std::string& called) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (std::string word : words) {
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--") || std::ranges::find(known, word) != known.end()) continue;
    return fmt::format("\"{}\" is not an option of {}. {}", word, called,
                       did_you_mean(word, known, fmt::format("`{} --help` lists them", called)));
  }
  if (error.get_name() == "ArgumentMismatch")
    for (const CLI::Option* option : command.get_options())
      if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw &&
          option->get_expected_max() == 1 && option->count() > 1)
        return fmt::format("{}: given {} times; it holds once", option->get_name(),
                           option->count());
  const std::string text = error.what();
  const bool wants_cluster = text.starts_with("CLUSTER") || text.starts_with("--cluster");
  if (error.get_name() == "RequiredError" && wants_cluster)
    return text + ": a bundled name (`ddpsim list` shows them), a file, or one line";
  return text;
}

}  // namespace ddpsim
