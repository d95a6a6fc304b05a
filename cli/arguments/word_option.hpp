// An option that takes one of a few words.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/formats/suggest.hpp"

namespace ddpsim {

/// An unknown word is a usage error that names the nearest one.
template <typename Enum>
CLI::Option* add_word_option(CLI::App& command, const std::string& name, Enum& value,
                             std::vector<std::pair<std::string, Enum>> choices,
                             const std::string& help) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  const auto set = [&value, name, words, choices = std::move(choices)](const std::string& given) {
    for (const auto& choice : choices) {
      if (choice.first != given) continue;
      value = choice.second;
      return;
    }
    throw CLI::ValidationError(name, not_one_of(given, words));
  };
  return command.add_option_function<std::string>(name, set, help)
      ->option_text(fmt::format("{}", fmt::join(words, "|")));
}

}  // namespace ddpsim
