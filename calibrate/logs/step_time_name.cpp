#include "step_time_name.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "ddpsim/formats/number.hpp"

namespace ddpsim {
namespace {

using NameWords = std::vector<std::string>;

constexpr std::array<std::string_view, 10> kSteps = {
    "step", "steps", "iteration", "iterations", "iter", "iters", "it", "its", "batch", "batches"};
constexpr std::array<std::string_view, 6> kTimes = {"time",    "times",   "duration",
                                                    "elapsed", "latency", "cost"};
/// As a whole name, these are the time of whatever their line is about.
constexpr std::array<std::string_view, 3> kBareTimes = {"time", "dt", "duration"};
constexpr std::array<std::string_view, 4> kMeans = {"avg", "average", "mean", "running"};
constexpr std::array<std::string_view, 22> kNeutral = {
    "per",  "last", "median", "train", "training", "perf",  "performance", "timing",
    "wall", "in",   "cur",    "curr",  "current",  "ema",   "timings",     "throughput",
    "p50",  "rate", "speed",  "clock", "global",   "metric"};
constexpr std::array<std::string_view, 27> kItems = {
    "sample",   "samples",  "image",     "images",    "img",   "imgs",     "example",
    "examples", "sequence", "sequences", "seq",       "seqs",  "sentence", "sentences",
    "word",     "words",    "token",     "tokens",    "tok",   "toks",     "frame",
    "frames",   "clip",     "clips",     "instances", "items", "videos"};
constexpr std::array<std::string_view, 4> kTokens = {"token", "tokens", "tok", "toks"};
/// Whole names: images, tokens or words per second.
constexpr std::array<std::string_view, 3> kItemsPerSecond = {"ips", "tps", "wps"};
constexpr std::array<std::string_view, 8> kGpuWords = {"gpu",  "gpus",   "device", "devices",
                                                       "rank", "worker", "chip",   "process"};
constexpr std::array<std::string_view, 5> kAllGpuWords = {"total", "overall", "global", "aggregate",
                                                          "aggregated"};
constexpr std::array<std::string_view, 20> kEvaluations = {
    "eval",      "evals",    "evaluation", "evaluate",   "evaluating", "evaluator", "val",
    "valid",     "validate", "validation", "validating", "test",       "testing",   "tests",
    "inference", "infer",    "predict",    "predicting", "prediction", "sanity"};

constexpr std::array<std::pair<std::string_view, double>, 19> kUnits = {{{"s", 1.0},
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
                                                                         {"μs", 1e-6},
                                                                         {"ns", 1e-9},
                                                                         {"nanoseconds", 1e-9}}};

template <typename List>
bool is_among(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Longest name of a step time in bytes. A line of a log without separators is no name.
constexpr std::size_t kLongestName = 256;

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_number_word(const std::string& word) {
  return !word.empty() && word.size() < 8 && std::all_of(word.begin(), word.end(), is_digit) &&
         word != "0" && word != "1";
}

bool is_time_word(const std::string& word) {
  return is_among(kTimes, word) || word == "dt" || unit_in_seconds(word).has_value();
}

bool is_neutral(const std::string& word) {
  return is_among(kNeutral, word) || is_among(kMeans, word);
}

template <typename Test>
bool any_word(const NameWords& words, Test test) {
  return std::any_of(words.begin(), words.end(), test);
}

/// Several units count as none, because it is unknown which one applies.
void find_unit(const NameWords& words, StepTimeName& name) {
  std::size_t units = 0;
  for (const std::string& word : words) {
    const auto unit = unit_in_seconds(word);
    if (!unit) continue;
    name.unit_s = unit;
    ++units;
  }
  if (units != 1) {
    name.unit_s.reset();
    return;
  }
  const std::size_t count = words.size();
  name.rate = count >= 3 && unit_in_seconds(words[count - 1]) && words[count - 2] == "per" &&
              is_step_word(words[count - 3]);
}

/// "samples per sec" anywhere, with nothing else except whose samples they are.
bool is_of_items(const NameWords& words, StepTimeName& name) {
  std::size_t rates = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    std::size_t last = i;
    if (is_item_word(word)) {
      last += i + 1 < words.size() && words[i + 1] == "per" ? 2 : 1;
      if (last >= words.size() || !unit_in_seconds(words[last])) return false;
      name.unit_s = unit_in_seconds(words[last]);
    } else if (is_among(kItemsPerSecond, word)) {
      name.unit_s = 1.0;
    } else if (is_neutral(word) || is_gpu_word(word) || is_among(kAllGpuWords, word)) {
      continue;
    } else {
      return false;
    }
    name.tokens = is_token_word(word) || word == "tps" || word == "wps";
    i = last;
    ++rates;
  }
  if (rates != 1) return false;
  if (any_word(words, is_gpu_word))
    name.scope = StepTimeName::Scope::each_gpu;
  else if (any_word(words, [](const std::string& word) { return is_among(kAllGpuWords, word); }))
    name.scope = StepTimeName::Scope::all_gpus;
  return true;
}

/// Removes "on 8 GPU(s)" from "img per sec on 8 GPU(s)", and notes that it is the total of so many
/// GPUs.
void take_gpus(NameWords& words, StepTimeName& name) {
  NameWords front = words;
  if (front.size() > 1 && front.back() == "s" && is_gpu_word(front[front.size() - 2]))
    front.pop_back();
  const std::size_t count = front.size();
  if (count < 4 || !is_gpu_word(front[count - 1]) || !is_number_word(front[count - 2]) ||
      front[count - 3] != "on")
    return;
  name.count = parse_number<double>(front[count - 2]).value_or(1);
  words.assign(front.begin(), front.end() - 3);
}

/// "time per 100 steps" without unknown words: a time of several steps. Absent if the name counts
/// no steps.
std::optional<StepTimeName> name_of_several_steps(const NameWords& words) {
  std::size_t at = 0;
  while (at + 1 < words.size() && !(is_number_word(words[at]) && is_word_of_steps(words[at + 1])))
    ++at;
  if (at + 1 >= words.size()) return std::nullopt;
  static constexpr std::array<std::string_view, 19> kAround = {
      "took", "take", "per",  "for",   "last",  "past",  "over",     "the", "every",   "each",
      "of",   "in",   "wall", "clock", "total", "train", "training", "all", "previous"};
  bool of_time = false;
  bool of_step = false;
  bool mean = false;
  bool known = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == at || i == at + 1) continue;
    const bool time = is_time_word(words[i]) || words[i] == "took";
    of_time = of_time || time;
    of_step = of_step || is_step_word(words[i]);
    mean = mean || is_among(kMeans, words[i]);
    known = known && (time || is_step_word(words[i]) || is_among(kMeans, words[i]) ||
                      is_among(kAround, words[i]));
  }
  StepTimeName name;
  find_unit(words, name);
  if (name.rate) return std::nullopt;
  name.mean = mean;
  name.near = !known && of_time;
  if (!known) return name;
  name.of = of_time ? StepTimeName::Of::step_time : StepTimeName::Of::step_word;
  name.doubt = of_step != mean || words.size() == 2;
  if (!of_step) name.count = parse_number<double>(words[at]).value_or(1);
  return name;
}

/// Replaces "steps per minute" by "steps per second"; returns the seconds in that unit.
double take_longer_unit(NameWords& words) {
  const std::size_t count = words.size();
  if (count < 3 || words[count - 2] != "per" || !is_step_word(words[count - 3]) ||
      unit_in_seconds(words.back()))
    return 1;
  const auto longer = unit_or_longer_in_seconds(words.back());
  if (longer) words.back() = "s";
  return longer.value_or(1);
}

}  // namespace

NameWords words_in_name(std::string_view name) {
  NameWords words;
  bool open = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool small = (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80 || c == '%';
    if (!small && !is_upper(c) && !is_digit(c)) {
      if (c == '/' && open) words.emplace_back("per");
      open = false;
      continue;
    }
    const bool hump = is_upper(c) && i > 0 && name[i - 1] >= 'a' && name[i - 1] <= 'z';
    if (!open || hump) words.emplace_back();
    open = true;
    words.back() += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return words;
}

std::optional<double> unit_in_seconds(std::string_view word) {
  for (const auto& [name, seconds] : kUnits)
    if (name == word) return seconds;
  return std::nullopt;
}

std::optional<double> unit_or_longer_in_seconds(std::string_view word) {
  if (word == "min" || word == "mins" || word == "minute" || word == "minutes") return 60.0;
  if (word == "h" || word == "hr" || word == "hrs" || word == "hour" || word == "hours")
    return 3600.0;
  return unit_in_seconds(word);
}

bool is_word_of_steps(std::string_view word) {
  return is_step_word(word) && (word.ends_with("ns") || word.ends_with("rs") ||
                                word.ends_with("ps") || word.ends_with("es") || word == "its");
}

bool is_step_word(std::string_view word) {
  return is_among(kSteps, word);
}

bool is_item_word(std::string_view word) {
  return is_among(kItems, word);
}

bool is_token_word(std::string_view word) {
  return is_among(kTokens, word);
}

bool is_gpu_word(std::string_view word) {
  return is_among(kGpuWords, word);
}

bool is_evaluation_word(std::string_view word) {
  return is_among(kEvaluations, word);
}

StepTimeName step_time_name(std::string_view text) {
  StepTimeName name;
  if (text.size() > kLongestName) return name;
  NameWords words = words_in_name(text);
  if (words.empty()) return name;
  if (const auto several = name_of_several_steps(words)) return *several;
  take_gpus(words, name);
  const double longer = take_longer_unit(words);
  name.mean = any_word(words, [](const std::string& word) { return is_among(kMeans, word); });
  name.running = any_word(words, [](const std::string& word) { return word == "running"; });
  if (is_of_items(words, name)) {
    name.of = StepTimeName::Of::items;
    if (name.count > 1) name.scope = StepTimeName::Scope::each_gpu;
    return name;
  }
  name.count = 1;
  name.unit_s.reset();
  name.tokens = false;
  find_unit(words, name);
  if (name.unit_s) *name.unit_s *= longer;
  const bool of_step = any_word(words, is_step_word);
  const bool of_time = any_word(words, is_time_word);
  const bool all_known = !any_word(words, [](const std::string& word) {
    return !is_step_word(word) && !is_time_word(word) && !is_neutral(word);
  });
  const bool bare = !any_word(words, [](const std::string& word) {
    return !is_among(kBareTimes, word) && !unit_in_seconds(word) && word != "in";
  });
  if (all_known && of_step && of_time)
    name.of = StepTimeName::Of::step_time;
  else if (all_known && of_step)
    name.of = StepTimeName::Of::step_word;
  else if (bare)
    name.of = StepTimeName::Of::bare_time;
  else
    name.near = of_step && of_time;
  return name;
}

StepTimeName unit_in_name(std::string_view text) {
  StepTimeName name;
  if (text.size() > kLongestName) return name;
  find_unit(words_in_name(text), name);
  return name;
}

}  // namespace ddpsim
