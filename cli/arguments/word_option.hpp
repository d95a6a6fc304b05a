// Options that take one of a few words.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/suggest.hpp"

namespace ddpsim {

/// Compares words without dashes, underscores and case: NCCL, PyTorch and nccl-tests spell all-reduce differently.
inline bool same_letters(std::string_view a, std::string_view b) {
  const auto letters = [](std::string_view word) {
    std::string out;
    for (const char c : word)
      if (c != '-' && c != '_')
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
  };
  return letters(a) == letters(b);
}

/// The error for CLI11, with the complaint that names the nearest word.
class UnknownWord : public CLI::ValidationError {
 public:
  UnknownWord(const std::string& option, Complaint complaint)
      : CLI::ValidationError(option, complaint.message), complaint_(std::move(complaint)) {}
  const Complaint& complaint() const { return complaint_; }

 private:
  Complaint complaint_;
};

/// Adds an option that takes one of the words of `choices`. An unknown word is a usage error that names the nearest one.
template <typename Enum>
CLI::Option* add_word_option(CLI::App& command, const std::string& name, Enum& value,
                             std::vector<std::pair<std::string, Enum>> choices,
                             const std::string& help) {
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  const auto set = [&value, name, words, choices = std::move(choices)](const std::string& given) {
    for (const auto& choice : choices) {
      if (!same_letters(choice.first, given)) continue;
      value = choice.second;
      return;
    }
    throw UnknownWord(name, not_one_of(given, words));
  };
  return command.add_option_function<std::string>(name, set, help)
      ->option_text(fmt::format("{}", fmt::join(words, "|")));
}

}  // namespace ddpsim
