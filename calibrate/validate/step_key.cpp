#include "step_key.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/number.hpp"
#include "step_time_name.hpp"

namespace ddpsim {
namespace {

/// Longest text before a number, in bytes, that may be its key.
constexpr std::size_t kLongestKey = 256;

bool is_key_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

bool is_key_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_key_char(char c) {
  return is_key_letter(c) || is_key_digit(c) ||
         std::string_view("_/.-%@#").find(c) != std::string_view::npos;
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

constexpr std::array<std::string_view, 8> kLevels = {"info",  "debug",    "warning", "warn",
                                                     "error", "critical", "notice",  "trace"};

/// Whether a word separates a key from the text before it: a number, "-", a logging level, "rank3",
/// the end of a sentence.
bool parts_keys(std::string_view word) {
  if (is_key_digit(word.front()) || word.back() == '.') return true;
  const bool signs = std::none_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_key_digit(c) || c == '\xC2' ||
           c == '\xCE';
  });
  if (signs) return true;
  const std::string small = in_small_letters(word);
  if (std::find(kLevels.begin(), kLevels.end(), small) != kLevels.end()) return true;
  return small.starts_with("rank") && small.size() > 4 &&
         std::all_of(small.begin() + 4, small.end(), is_key_digit);
}

/// Position of the bracket in a phrase that ends in "(ms)" or "[s]". npos if it ends in another
/// bracket.
std::size_t unit_bracket(std::string_view text) {
  const char close = text.back();
  const std::size_t open = text.find_last_of(close == ')' ? '(' : '[');
  if (open == std::string_view::npos || text.size() - open > 24) return std::string_view::npos;
  const std::string_view inside = trimmed(text.substr(open + 1, text.size() - open - 2));
  const bool letters = !inside.empty() && std::all_of(inside.begin(), inside.end(), [](char c) {
    return is_key_letter(c) || c == '/' || c == ' ';
  });
  return letters ? open : std::string_view::npos;
}

/// The phrase at the end of `text`: words with single blanks between, back to punctuation, a tab,
/// two blanks, or a separating word.
std::string_view phrase_at_end(std::string_view text) {
  std::size_t end = text.size();
  if (!text.empty() && (text.back() == ')' || text.back() == ']')) {
    end = unit_bracket(text);
    if (end == std::string_view::npos) return {};
    while (end > 0 && text[end - 1] == ' ') --end;
  }
  std::size_t begin = end;
  while (begin > 0) {
    if (is_key_char(text[begin - 1])) {
      --begin;
      continue;
    }
    if (text[begin - 1] != ' ' || begin < 2 || !is_key_char(text[begin - 2])) break;
    --begin;
  }
  // From the end, word by word, back to the first separating word.
  std::size_t from = end;
  while (from > begin) {
    std::size_t word = from;
    while (word > begin && text[word - 1] != ' ') --word;
    if (word == from) break;
    if (parts_keys(text.substr(word, from - word))) {
      begin = std::min(from + 1, end);
      break;
    }
    from = word > begin ? word - 1 : begin;
  }
  return begin >= end ? std::string_view() : text.substr(begin);
}

std::string_view quoted_at_end(std::string_view text) {
  const std::string_view inside = text.substr(0, text.size() - 1);
  const std::size_t open = inside.find_last_of(text.back());
  return open == std::string_view::npos ? std::string_view() : inside.substr(open + 1);
}

/// Visits words as they appear in headings: letters, digits and "_".
template <typename Take>
void each_word(std::string_view text, Take take) {
  const auto in_word = [](char c) { return is_key_letter(c) || is_key_digit(c) || c == '_'; };
  for (std::size_t i = 0; i < text.size();) {
    if (!in_word(text[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && in_word(text[i])) ++i;
    if (!take(begin, i)) return;
  }
}

constexpr std::array<std::string_view, 14> kMetrics = {
    "loss", "losses", "acc",   "accuracy", "ppl", "perplexity", "score",
    "top1", "top5",   "error", "bleu",     "f1",  "metric",     "auc"};

bool is_metric(std::string_view word) {
  return std::find(kMetrics.begin(), kMetrics.end(), word) != kMetrics.end();
}

constexpr std::array<std::string_view, 12> kTrainingHeadings = {
    "epoch", "train",     "training",   "step",  "steps",    "iter",
    "iters", "iteration", "iterations", "batch", "progress", "it"};

/// "Epoch 3: 50%|" is the bar of one epoch and counts steps; "Epochs: 30%|" counts epochs.
bool is_training_heading(std::string_view heading, bool has_number) {
  bool known = true;
  each_word(heading, [&](std::size_t begin, std::size_t end) {
    const std::string word = in_small_letters(heading.substr(begin, end - begin));
    if (word == "epoch" && !has_number) known = false;
    known = known && (std::find(kTrainingHeadings.begin(), kTrainingHeadings.end(), word) !=
                          kTrainingHeadings.end() ||
                      is_gpu_word(word) || parts_keys(word));
    return known;
  });
  return known;
}

}  // namespace

KeyBefore key_before(std::string_view line, std::size_t number_at) {
  KeyBefore key;
  std::size_t end = number_at;
  const auto skip_blanks = [&] {
    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t')) --end;
  };
  if (end > 0 && is_quote(line[end - 1])) --end;  // the value is quoted
  const std::size_t value_at = end;
  skip_blanks();
  if (end == 0) return key;
  if (line[end - 1] == ':' || line[end - 1] == '=') {
    key.separated = true;
    --end;
    skip_blanks();
    if (end == 0) return key;
  } else if (end == value_at) {
    return key;
  }
  const std::size_t from = end > kLongestKey ? end - kLongestKey : 0;
  const std::string_view before = line.substr(from, end - from);
  key.quoted = is_quote(before.back());
  if (key.quoted && !key.separated) return key;
  key.text = key.quoted ? quoted_at_end(before) : phrase_at_end(before);
  if (key.text.empty()) return key;
  key.begin = static_cast<std::size_t>(key.text.data() - line.data());
  return key;
}

KeyBefore with_count_before(std::string_view line, const KeyBefore& key) {
  std::string_view first = key.text.substr(0, key.text.find_first_of(" ("));
  const std::string small = in_small_letters(first);
  if (key.quoted || !(is_word_of_steps(small) || is_gpu_word(small)) || key.begin < 2) return key;
  std::size_t begin = key.begin - 1;
  if (line[begin] != ' ') return key;
  const std::size_t end = begin;
  while (begin > 0 && is_key_digit(line[begin - 1])) --begin;
  if (begin == end || (begin > 0 && is_key_char(line[begin - 1]))) return key;
  KeyBefore whole = key;
  const KeyBefore front = key_before(line, begin);
  whole.begin = front.text.empty() || front.separated ? begin : front.begin;
  whole.text = line.substr(whole.begin, static_cast<std::size_t>(key.text.data() - line.data()) +
                                            key.text.size() - whole.begin);
  return whole;
}

bool is_of_evaluation(std::string_view before) {
  bool found = false;
  bool metric_seen = false;
  each_word(before, [&](std::size_t begin, std::size_t end) {
    const std::string word = in_small_letters(before.substr(begin, end - begin));
    if (is_metric(word)) metric_seen = true;
    if (metric_seen) return false;
    // Part of a file, a folder or a module: "test.py:12", "/data/val/run".
    const auto joins = [](char c) { return c == '.' || c == '/' || c == '\\' || c == '-'; };
    const bool part =
        (begin > 0 && joins(before[begin - 1])) ||
        (end + 1 < before.size() && joins(before[end]) && is_key_letter(before[end + 1]));
    if (part || !is_evaluation_word(word)) return true;
    std::size_t next = end;
    while (next < before.size() && before[next] == ' ') ++next;
    std::size_t next_end = next;
    while (next_end < before.size() &&
           (is_key_letter(before[next_end]) || is_key_digit(before[next_end])))
      ++next_end;
    found = !is_metric(in_small_letters(before.substr(next, next_end - next)));
    return !found;
  });
  return found;
}

std::optional<double> number_behind(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    if (at > 0 &&
        (is_key_letter(line[at - 1]) || is_key_digit(line[at - 1]) || line[at - 1] == '_'))
      continue;
    const std::size_t begin = line.find_first_not_of(" :=#\"'", at + word.size());
    if (begin == at + word.size() || begin == std::string_view::npos || !is_key_digit(line[begin]))
      continue;
    std::string_view number = line.substr(begin);
    return take_number<double>(number);
  }
  return std::nullopt;
}

std::optional<bool> heading_of_evaluation(std::string_view line) {
  constexpr std::size_t kLongestHeadingLine = 200;
  constexpr std::size_t kFewestSigns = 3;
  line = trimmed(line);
  if (line.size() > kLongestHeadingLine || line.empty()) return std::nullopt;
  const char sign = line.back();
  if (std::string_view("*=-#~_").find(sign) == std::string_view::npos) return std::nullopt;
  const std::size_t end = line.find_last_not_of(sign) + 1;
  if (line.size() - end < kFewestSigns || end == 0) return std::nullopt;
  const std::size_t open = line.rfind(std::string(kFewestSigns, sign), end - 1);
  if (open == std::string_view::npos) return std::nullopt;
  static constexpr std::array<std::string_view, 22> kOfHeadings = {
      "running", "epoch", "the",      "on",        "set",     "phase",    "step",    "of",
      "begin",   "start", "starting", "beginning", "results", "metrics",  "dataset", "split",
      "loop",    "mode",  "model",    "at",        "batch",   "iteration"};
  bool evaluates = false;
  bool plain = true;
  each_word(line.substr(open, end - open), [&](std::size_t begin, std::size_t stop) {
    const std::string word = in_small_letters(line.substr(open + begin, stop - begin));
    const std::string_view letters = trimmed(std::string_view(word));
    if (letters.find_first_not_of('_') == std::string_view::npos) return true;
    if (is_evaluation_word(word))
      evaluates = true;
    else
      plain = plain && (parts_keys(word) || std::find(kOfHeadings.begin(), kOfHeadings.end(),
                                                      word) != kOfHeadings.end());
    return true;
  });
  return evaluates && plain;
}

std::optional<double> step_of_line(std::string_view line) {
  line = line.substr(0, 1024);
  // Example: "10 | loss 7.8".
  const std::string_view start = trimmed(line);
  const std::size_t digits = std::min(start.find_first_not_of("0123456789"), start.size());
  if (digits > 0 && trimmed(start.substr(digits)).starts_with('|'))
    return parse_number<double>(start.substr(0, digits));
  bool counts = false;
  std::string_view number;
  std::string last;
  for (std::size_t i = 0; i < line.size() && !counts;) {
    if (is_key_letter(line[i])) {
      const std::size_t begin = i;
      while (i < line.size() && is_key_letter(line[i])) ++i;
      last = in_small_letters(line.substr(begin, i - begin));
      continue;
    }
    if (is_key_digit(line[i])) {
      std::size_t end = i;
      while (end < line.size() && is_key_digit(line[end])) ++end;
      std::size_t slash = end;
      while (slash < line.size() && line[slash] == ' ') ++slash;
      const bool whole = end == line.size() || line[end] != '.' || end + 1 == line.size() ||
                         !is_key_digit(line[end + 1]);
      const bool fraction = slash + 1 < line.size() && line[slash] == '/' &&
                            (is_key_digit(line[slash + 1]) || line[slash + 1] == ' ');
      std::size_t open = i;
      while (open > 0 && line[open - 1] == ' ') --open;
      const bool bracket = open > 0 && line[open - 1] == '[';
      // "Epoch [3/10]" counts epochs, "Epoch [3][10/500]" counts steps in an epoch.
      counts = whole && (is_step_word(last) || (bracket && fraction && last != "epoch"));
      number = line.substr(i, end - i);
      if (last == "epoch") last.clear();
      if (!is_step_word(last)) last.clear();
      i = end;
      continue;
    }
    if (std::string_view(" :=#[(\t_/").find(line[i]) == std::string_view::npos) last.clear();
    ++i;
  }
  return counts ? parse_number<double>(number) : std::nullopt;
}

std::optional<ProgressBar> progress_bar(std::string_view line) {
  ProgressBar bar;
  std::size_t end = line.find("%|");
  const bool percent = end != std::string_view::npos;
  if (!percent) end = line.find("\xE2\x94\x81");  // Rich and Keras 3 draw it with ━
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view heading = line.substr(0, end);
  if (percent) heading = heading.substr(0, heading.find_last_not_of("0123456789.") + 1);
  const bool numbered = heading.find_first_of("0123456789") != std::string_view::npos;
  heading = trimmed(heading.substr(0, heading.find_last_not_of("0123456789 :/[]") + 1));
  bar.heading = heading;
  bar.of_training = is_training_heading(heading, numbered);
  const std::string_view behind = line.substr(end);
  for (std::size_t slash = behind.find('/'); slash != std::string_view::npos;
       slash = behind.find('/', slash + 1)) {
    if (!is_key_digit(behind[slash - 1])) continue;
    const std::size_t last =
        std::min(behind.find_first_not_of("0123456789", slash + 1), behind.size());
    bar.total = behind.substr(slash + 1, last - slash - 1);
    const std::size_t first = behind.find_last_not_of("0123456789", slash - 1) + 1;
    bar.done = parse_number<double>(behind.substr(first, slash - first)).value_or(0);
    break;
  }
  return bar;
}

}  // namespace ddpsim
