#include "step_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/number.hpp"
#include "line_parts.hpp"
#include "step_document.hpp"
#include "step_key.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;
using Suffix = StepValue::Suffix;

bool is_ascii_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool has_part(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

/// Whether `name` appears in a line as a separate word.
bool has_key(std::string_view line, std::string_view name) {
  line = line.substr(0, 4 * kLongestHeading);
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    const bool begins = at == 0 || !is_ascii_word(line[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && end < line.size() && !is_ascii_word(line[end])) return true;
  }
  return false;
}

/// detectron2, mmengine, maskrcnn-benchmark and torchvision print "eta: 1:02:03 … time: 0.1057
/// data_time: 0.0338", both in seconds.
std::string convention_of(std::string_view line) {
  if (!has_key(line, "eta")) return "";
  if (has_key(line, "data_time")) return "in seconds, as detectron2 and mmengine write it";
  if (has_key(line, "data")) return "in seconds, as maskrcnn-benchmark and torchvision write it";
  return "";
}

/// Whether a phrase does not change the meaning of a rate: "Throughput: 4 it/s", "took 35 ms/step".
bool leaves_rate(std::string_view phrase) {
  const std::vector<std::string> words = words_in_name(phrase);
  return std::all_of(words.begin(), words.end(), [](const std::string& word) {
    static constexpr std::array<std::string_view, 8> kPlain = {"at",  "took",    "of",    "total",
                                                               "run", "current", "steps", "ran"};
    return std::find(kPlain.begin(), kPlain.end(), word) != kPlain.end() ||
           step_time_name(word).of != Of::other ||
           step_time_name("step " + word + " time").of == Of::step_time;
  });
}

class LineReader {
 public:
  LineReader(std::string_view line, std::uint32_t number, bool last_open, DecimalMark& mark,
             StepReadings& found)
      : line_(line), number_(number), last_open_(last_open), mark_(mark), found_(found) {}

  void run() {
    std::size_t i = first_digit(0);
    while (i != std::string_view::npos && !found_.too_many) i = first_digit(take_at(i));
  }

 private:
  /// Start of the next number that is not part of a word.
  std::size_t first_digit(std::size_t from) const {
    std::size_t i = line_.find_first_of("0123456789", from);
    while (i != std::string_view::npos && i > 0 && is_ascii_word(line_[i - 1])) {
      i = std::min(line_.find_first_not_of("0123456789", i), line_.size());
      i = line_.find_first_of("0123456789", i);
    }
    return i;
  }

  bool evaluates() {
    if (!evaluates_) {
      evaluates_ = is_of_evaluation(line_.substr(0, std::min(at_, kLongestHeading)));
      if (*evaluates_) ++found_.evaluations;
    }
    return *evaluates_;
  }

  bool counts() {
    if (!counts_) counts_ = step_of_line(line_).has_value();
    return *counts_;
  }

  /// Reads the number at `i`; returns where to continue.
  std::size_t take_at(std::size_t i) {
    at_ = i;
    std::size_t begin = i;
    if (begin > 0 && line_[begin - 1] == '.') --begin;
    if (begin > 0 && line_[begin - 1] == '-' && (begin < 2 || !is_ascii_word(line_[begin - 2])))
      --begin;
    const KeyBefore key = with_count_before(line_, key_before(line_, begin));
    std::string_view rest = line_.substr(begin);
    const std::size_t before = rest.size();
    const bool may_be = !key.text.empty() || may_stand_alone(begin);
    const std::optional<StepValue> value = may_be ? take_step_value(rest, mark_) : std::nullopt;
    if (!value)
      return std::max(i + 1, std::min(line_.find_first_not_of("0123456789.", i), line_.size()));
    const std::size_t end = begin + (before - rest.size());
    take(key, *value, line_.substr(begin, end - begin), rest);
    return std::max(end, i + 1);
  }

  /// Whether a number without a key may be a rate by its unit, or a time in its own cell.
  bool may_stand_alone(std::size_t begin) const {
    const std::size_t letters = line_.find_first_not_of("0123456789.,", begin);
    return letters != std::string_view::npos && line_[letters] != ']' && line_[letters] != '/';
  }

  void take(const KeyBefore& key, const StepValue& value, std::string_view shown,
            std::string_view rest) {
    // A number at the end of a cut-off file may be incomplete.
    if (last_open_ && rest.find_first_not_of(" ,.") == std::string_view::npos &&
        value.suffix == Suffix::none) {
      if (step_time_name(key.text).of != Of::other || found_.is_asked(key.text))
        found_.cut_off = true;
      return;
    }
    const bool rate = value.suffix == Suffix::time_per_step ||
                      value.suffix == Suffix::steps_per_time ||
                      value.suffix == Suffix::items_per_time;
    StepTimeName meaning = step_time_name(key.text);
    // fairseq writes updates per second next to words per second and per batch.
    const bool updates = key.text == "ups" && (has_key(line_, "wps") || has_key(line_, "wpb"));
    if (updates) meaning = {.of = Of::step_time, .unit_s = 1.0, .rate = true};
    if (meaning.near) found_.note_near(key.text, value.suffix != Suffix::none);
    if (found_.is_asked(key.text)) {
      add(key.text, meaning, value, shown);
      return;
    }
    if (key.quoted && !at_top_of_braces(key.begin)) return;
    if (rate && meaning.of != Of::step_time) return take_rate(key, meaning, value, shown);
    switch (meaning.of) {
      case Of::step_time:
        add(key.text, meaning, value, shown);
        return;
      case Of::step_word:
        // "step_avg: 141.83ms" is a time, "step: 5062/5100" a count.
        if (!key.separated || value.suffix != Suffix::time || !value.problem.empty()) return;
        if (stands_beside_its_parts())
          found_.note_near(key.text, true);
        else
          add(key.text, meaning, value, shown);
        return;
      case Of::bare_time:
        if (counts() && !is_unit_of_number(key)) add(key.text, meaning, value, shown);
        return;
      case Of::items:
        if (key.separated || value.problem.empty()) add(key.text, meaning, value, shown);
        return;
      case Of::other:
        if (value.suffix == Suffix::time) take_alone(key, value, shown, rest);
        return;
    }
  }

  /// In "forward: 100 ms, backward: 200 ms, step: 12 ms", the step is the optimizer's.
  bool stands_beside_its_parts() const {
    const auto has_any = [this](std::initializer_list<std::string_view> names) {
      return std::ranges::any_of(names,
                                 [&](std::string_view name) { return has_key(line_, name); });
    };
    return has_any({"forward", "fwd", "Forward", "FWD"}) &&
           has_any({"backward", "bwd", "Backward", "BWD"}) &&
           !has_any({"opt", "optim", "optimizer", "Optimizer", "update"});
  }

  /// In "12.5 ms:30", the word is the unit of the number before it, not a key.
  bool is_unit_of_number(const KeyBefore& key) const {
    const std::string_view before = trimmed(line_.substr(0, key.begin));
    return unit_in_seconds(in_small_letters(key.text)) && !before.empty() && before.back() >= '0' &&
           before.back() <= '9';
  }

  void take_rate(const KeyBefore& key, const StepTimeName& meaning, const StepValue& value,
                 std::string_view shown) {
    if (!value.problem.empty()) return;
    const bool items = value.suffix == Suffix::items_per_time;
    std::string name = value.suffix_text;
    StepTimeName of;  // each number has its unit
    if (items) {
      of.of = Of::items;
      of.unit_s = value.unit_s;
      of.tokens = value.tokens;
      of.scope = value.scope != StepTimeName::Scope::unknown ? value.scope : meaning.scope;
      if (!key.text.empty()) {
        if (!leaves_rate(key.text) && meaning.of != Of::items) return;
        name = key.text;
        of.mean = meaning.mean;
        of.running = meaning.running;
        const std::vector<std::string> words = words_in_name(key.text);
        if (of.scope == StepTimeName::Scope::unknown &&
            std::ranges::find(words, "total") != words.end())
          of.scope = StepTimeName::Scope::all_gpus;
      }
      add(name, of, value, shown);
      return;
    }
    if (!key.text.empty() && !leaves_rate(key.text)) {
      const std::string other = std::string(key.text) + ' ' + name;
      of.of = Of::step_time;
      if (found_.is_asked(other))
        add(other, of, value, shown);
      else
        found_.note_near(other, true);
      return;
    }
    if (!bar_looked_) bar_ = progress_bar(line_);
    bar_looked_ = true;
    if (bar_ && !bar_->of_training) {
      name = fmt::format("{} {}", bar_->heading.substr(0, 60), name);
      if (!found_.is_asked(name)) {
        found_.note_near(name, true);
        return;
      }
    } else if (bar_ && bar_->heading.empty() && !bar_->total.empty()) {
      const std::string own = fmt::format("{} of {}", name, bar_->total);
      if (!found_.is_asked(name)) name = own;
    }
    of.of = Of::step_time;
    if (StepKey* one = add(name, of, value, shown)) {
      if (bar_) found_.note_bar(*one, bar_->done);
      one->of_run =
          has_part(in_small_letters(line_.substr(0, kLongestHeading)), "total time") ||
          has_part(in_small_letters(line_.substr(0, kLongestHeading)), "overall training");
    }
  }

  /// Reads a time in its own cell: "| 352.10 ms |" in a line that counts steps, or "(took 35.1
  /// ms)".
  void take_alone(const KeyBefore& key, const StepValue& value, std::string_view shown,
                  std::string_view rest) {
    if (!value.problem.empty()) return;
    const auto before =
        trimmed(line_.substr(0, static_cast<std::size_t>(shown.data() - line_.data())));
    rest = trimmed(rest);
    const std::string phrase = in_small_letters(key.text);
    const bool took = phrase == "took" || phrase.ends_with(" took");
    const bool cell =
        key.text.empty() &&
        (before.ends_with('|') || before.ends_with("| (") || before.ends_with("|(")) &&
        (rest.empty() || rest.front() == '|' || rest.front() == ')');
    if (!(took || cell) || !counts()) return;
    StepTimeName of;
    of.of = Of::bare_time;
    add(took ? "took" : "time in a cell of its own", of, value, shown);
  }

  /// Below the heading of an evaluation, a bar that began above continues, and so do keys that name
  /// the training.
  bool is_below_evaluation(const StepKey& key) const {
    const bool own_bar = bar_ && bar_->heading.empty();
    if (!found_.in_evaluation)
      return own_bar && key.of_evaluation > 0 && key.readings.empty() && !bar_->total.empty();
    if (own_bar) return key.readings.empty();
    if (bar_) return false;
    const std::vector<std::string> words = words_in_name(key.name);
    return std::ranges::none_of(
        words, [](const std::string& word) { return word == "train" || word == "training"; });
  }

  StepKey* add(std::string_view name, const StepTimeName& meaning, StepValue value,
               std::string_view shown) {
    StepKey* key = found_.key(name, meaning, found_.is_asked(name));
    if (key == nullptr) return key;
    if (evaluates()) {
      ++key->of_evaluation;
      return key;
    }
    if (is_below_evaluation(*key)) {
      if (key->of_evaluation++ == 0 || !bar_) ++found_.evaluations;
      return key;
    }
    // Nothing can be said about a last line that is cut off.
    if (last_open_ && !value.problem.empty()) {
      found_.cut_off = true;
      return key;
    }
    StepTimeName::Of of = meaning.of;
    const bool unstated = value.suffix == Suffix::none && !meaning.unit_s;
    if (unstated && of == Of::bare_time && key->convention.empty()) {
      key->convention = convention_of(line_);
      if (!key->convention.empty()) key->meaning.unit_s = 1.0;
    }
    std::string exact;
    if (name == "ups" && meaning.rate) {
      key->convention = take_updates(value, shown, number_behind(line_, "wps").value_or(0),
                                     number_behind(line_, "wpb").value_or(0));
      shown = exact = fmt::format("{:.9f}", value.number);
    }
    found_.record = record_of_line();
    found_.add(*key, value, number_, shown);
    return key;
  }

  /// Position of "rank", "local_rank" or "global_rank". "lora_rank" and "rerank" have another
  /// meaning.
  static std::size_t rank_word(std::string_view line) {
    for (std::size_t at = line.find("rank"); at != std::string_view::npos;
         at = line.find("rank", at + 1)) {
      const std::string_view before = line.substr(0, at);
      if (before.empty() || !is_ascii_word(before.back()) || before.ends_with("local_") ||
          before.ends_with("global_"))
        return at;
    }
    return std::string_view::npos;
  }

  ReadingRecord record_of_line() {
    if (!record_) {
      record_.emplace();
      const std::string_view start = line_.substr(0, kLongestHeading);
      const std::size_t at = rank_word(start);
      const std::size_t digit =
          at == std::string_view::npos ? at : start.find_first_not_of(" :=_", at + 4);
      if (digit != std::string_view::npos && start[digit] >= '0' && start[digit] <= '9') {
        std::string_view number = start.substr(digit);
        record_->rank = take_number<int>(number).value_or(-1);
        record_->step = step_of_line(line_).value_or(-1);
      }
    }
    return *record_;
  }

  /// A quoted key inside one pair of braces belongs to its line. Deeper keys may belong to
  /// anything.
  bool at_top_of_braces(std::size_t at) const {
    int depth = 0;
    for (const char c : line_.substr(0, std::min(at, kLongestHeading)))
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    return depth == 1 && at < kLongestHeading;
  }

  std::string_view line_;
  std::uint32_t number_;
  bool last_open_;
  DecimalMark& mark_;
  StepReadings& found_;
  std::size_t at_ = 0;
  std::optional<bool> evaluates_, counts_;
  std::optional<ReadingRecord> record_;
  std::optional<ProgressBar> bar_;
  bool bar_looked_ = false;
};

/// Reads a line's own object if it has one. The text around it is its heading.
bool take_object(std::string_view line, std::uint32_t number, DecimalMark& mark,
                 StepReadings& found) {
  const std::size_t open = line.find('{');
  const std::size_t close = line.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  const std::size_t key = line.find_first_not_of(" \t", open + 1);
  if (key == std::string_view::npos || (line[key] != '"' && line[key] != '\'')) return false;
  const std::string_view before = line.substr(0, open);
  if (is_of_evaluation(before.substr(0, kLongestHeading))) {
    ++found.evaluations;
    return true;
  }
  if (found.in_evaluation) {
    // transformers.Trainer prints {'eval_loss': 1.8, …} at the end of its evaluation.
    const std::string_view object = line.substr(open, close + 1 - open);
    const bool ends = object.find("eval_") != std::string_view::npos;
    const bool trains = object.find("train_") != std::string_view::npos;
    found.in_evaluation = !ends && !trains;
    if (found.in_evaluation) ++found.evaluations;
    if (found.in_evaluation) return true;
  }
  if (!read_step_object(line.substr(open, close + 1 - open), number, mark, found)) return false;
  LineReader(before, number, false, mark, found).run();
  LineReader(line.substr(close + 1), number, false, mark, found).run();
  return true;
}

}  // namespace

void read_step_lines(std::string_view text, StepReadings& found) {
  DecimalMark mark(text);
  each_part_of_lines(text, [&](std::string_view part, std::uint32_t number, bool open) {
    if (found.too_many) return false;
    if (const auto evaluates = heading_of_evaluation(part)) {
      found.in_evaluation = *evaluates;
      return true;
    }
    if (!take_object(part, number, mark, found)) LineReader(part, number, open, mark, found).run();
    return true;
  });
}

}  // namespace ddpsim
