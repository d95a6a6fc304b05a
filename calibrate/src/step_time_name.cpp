#include "step_time_name.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ddpsim {
namespace {

constexpr std::array<std::string_view, 10> kSteps = {
    "step", "steps", "iteration", "iterations", "iter", "iters", "it", "its", "batch", "batches"};
constexpr std::array<std::string_view, 5> kTimes = {"time", "times", "duration", "elapsed",
                                                    "latency"};
constexpr std::array<std::string_view, 12> kNeutral = {"per",  "avg",    "average", "mean",
                                                       "last", "median", "train",   "training",
                                                       "perf", "timing", "timings", "wall"};
/// In front of a step's time they make it that of something else.
constexpr std::array<std::string_view, 13> kOthers = {
    "eval", "evaluation", "val",      "valid",      "validation", "test",  "data",
    "load", "forward",    "backward", "checkpoint", "save",       "warmup"};

constexpr std::array<std::pair<std::string_view, double>, 18> kUnits = {{{"s", 1.0},
                                                                         {"sec", 1.0},
                                                                         {"secs", 1.0},
                                                                         {"second", 1.0},
                                                                         {"seconds", 1.0},
                                                                         {"ms", 1e-3},
                                                                         {"msec", 1e-3},
                                                                         {"msecs", 1e-3},
                                                                         {"millis", 1e-3},
                                                                         {"millisecond", 1e-3},
                                                                         {"milliseconds", 1e-3},
                                                                         {"us", 1e-6},
                                                                         {"µs", 1e-6},
                                                                         {"usec", 1e-6},
                                                                         {"usecs", 1e-6},
                                                                         {"microseconds", 1e-6},
                                                                         {"ns", 1e-9},
                                                                         {"nanoseconds", 1e-9}}};

template <typename List>
bool is_among(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Bytes of a name that may be a step's: a line of a log without separators is no name.
constexpr std::size_t kLongestName = 256;

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A word in small letters and where it begins in the text.
struct Word {
  std::string text;
  std::size_t at = 0;
};

/// "stepTime(ms)", "step_time/ms" -> step, time, ms; "it/s" -> it, per, s.
std::vector<Word> words_in(std::string_view name) {
  std::vector<Word> words;
  bool open = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool small = (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
    if (!small && !is_upper(c) && !is_digit(c)) {
      if (c == '/' && open) words.push_back({"per", i});
      open = false;
      continue;
    }
    const bool hump = is_upper(c) && i > 0 && name[i - 1] >= 'a' && name[i - 1] <= 'z';
    if (!open || hump) words.push_back({"", i});
    open = true;
    words.back().text += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return words;
}

bool is_number(const std::string& word) {
  return std::all_of(word.begin(), word.end(), is_digit);
}

bool is_known(const std::string& word) {
  return is_step_word(word) || is_among(kTimes, word) || is_among(kNeutral, word) ||
         unit_in_seconds(word).has_value();
}

/// Several units are none: nobody knows which is meant.
StepTimeName unit_of(const std::vector<Word>& words) {
  StepTimeName name;
  std::size_t units = 0;
  for (const Word& word : words) {
    const auto unit = unit_in_seconds(word.text);
    if (!unit) continue;
    name.unit_s = unit;
    ++units;
  }
  if (units != 1) return {};
  const std::size_t count = words.size();
  name.rate = count >= 3 && unit_in_seconds(words[count - 1].text) &&
              words[count - 2].text == "per" && is_step_word(words[count - 3].text);
  return name;
}

std::optional<StepTimeName> meaning(const std::vector<Word>& words) {
  bool of_step = false;
  bool of_time = false;
  for (const Word& word : words) {
    of_step = of_step || is_step_word(word.text);
    of_time = of_time || is_among(kTimes, word.text) || unit_in_seconds(word.text).has_value();
  }
  if (!of_step || !of_time) return std::nullopt;
  return unit_of(words);
}

}  // namespace

std::optional<double> unit_in_seconds(std::string_view word) {
  for (const auto& [name, seconds] : kUnits)
    if (name == word) return seconds;
  return std::nullopt;
}

bool is_step_word(std::string_view word) {
  return is_among(kSteps, word);
}

std::optional<StepTimeName> step_time_name(std::string_view name) {
  if (name.size() > kLongestName) return std::nullopt;
  const std::vector<Word> words = words_in(name);
  if (!std::all_of(words.begin(), words.end(),
                   [](const Word& word) { return is_known(word.text); }))
    return std::nullopt;
  return meaning(words);
}

StepTimeName unit_in_name(std::string_view name) {
  return name.size() > kLongestName ? StepTimeName() : unit_of(words_in(name));
}

std::optional<KeyInLine> step_time_key(std::string_view before_separator) {
  before_separator.remove_prefix(before_separator.size() -
                                 std::min(before_separator.size(), kLongestName));
  const std::vector<Word> words = words_in(before_separator);
  std::size_t first = words.size();
  while (first > 0 && (is_known(words[first - 1].text) || is_number(words[first - 1].text)))
    --first;
  if (first > 0 && is_among(kOthers, words[first - 1].text)) return std::nullopt;
  // What stands before a number is the line's own: a time of day, "iter 10".
  for (std::size_t i = first; i < words.size(); ++i)
    if (is_number(words[i].text)) first = i + 1;
  const std::vector<Word> own(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
  const auto name = meaning(own);
  if (!name) return std::nullopt;
  return KeyInLine{*name, before_separator.substr(own.front().at)};
}

}  // namespace ddpsim
