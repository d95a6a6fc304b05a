#include "ddp_log_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <vector>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

/// Any of these keys distinguishes the data from dicts that trainers print.
constexpr std::array<std::string_view, 4> kOwnKeys = {"bucket_cap_bytes", "rebuilt_bucket_sizes",
                                                      "num_parameter_tensors",
                                                      "total_parameter_size_bytes"};
constexpr std::size_t kMostKeys = 1000;
constexpr std::size_t kMostPrintouts = 100'000;

using Values = std::map<std::string, std::string, std::less<>>;  ///< as JSON tokens

bool holds_own_key(std::string_view text) {
  return std::ranges::any_of(
      kOwnKeys, [&](std::string_view key) { return text.find(key) != std::string_view::npos; });
}

std::size_t line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n'));
}

/// Reads a flat dict of Python or a JSON object: strings, numbers, True, False, None, and lists,
/// which are kept as written.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : rest_(text) {}

  /// Reads the dict; the text begins after its "{". Absent if the text is not a flat dict, or if
  /// its end is missing (see cut()).
  std::optional<Values> read() {
    Values values;
    while (true) {
      skip_blanks();
      if (take('}')) return values;
      const std::optional<std::string> key = string();
      skip_blanks();
      if (!key || !take(':')) return std::nullopt;
      skip_blanks();
      const std::optional<std::string> value = token();
      if (!value || values.size() == kMostKeys) return std::nullopt;
      values.insert_or_assign(*key, *value);
      skip_blanks();
      if (!take(',') && (rest_.empty() || rest_.front() != '}')) return std::nullopt;
    }
  }
  bool cut() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

 private:
  void skip_blanks() {
    const std::size_t first = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(first, rest_.size()));
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string> string() {
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const char quote = rest_.front();
    std::string text;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return text;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size())
        ++i;  // only quotes need the backslash in these texts
      text += rest_[i];
    }
    rest_ = {};
    return std::nullopt;
  }
  /// pprint splits a long text into several adjacent ones, in parentheses.
  std::optional<std::string> strings() {
    std::string all;
    while (!rest_.empty() && (rest_.front() == '\'' || rest_.front() == '"')) {
      const std::optional<std::string> part = string();
      if (!part) return std::nullopt;
      all += *part;
      skip_blanks();
    }
    return string_token(all);
  }
  std::optional<std::string> token() {
    if (take('(')) {
      skip_blanks();
      std::optional<std::string> text = strings();
      return take(')') ? text : std::nullopt;
    }
    if (!rest_.empty() && (rest_.front() == '\'' || rest_.front() == '"')) return strings();
    if (!rest_.empty() && rest_.front() == '[') {
      const std::size_t end = rest_.find(']');
      if (end == std::string_view::npos) {
        rest_ = {};
        return std::nullopt;
      }
      const std::string list = string_token(std::string(rest_.substr(1, end - 1)));
      rest_.remove_prefix(end + 1);
      return list;
    }
    const std::string_view word = rest_.substr(0, rest_.find_first_of(",}\r\n \t"));
    rest_.remove_prefix(word.size());
    return scalar(word);
  }

 public:
  /// PyTorch's flags are numbers.
  static std::optional<std::string> scalar(std::string_view word) {
    if (word == "True" || word == "true") return "1";
    if (word == "False" || word == "false") return "0";
    if (word == "None" || word == "null") return "null";
    if (parse_number<double>(word)) return std::string(word);
    return std::nullopt;
  }

 private:
  std::string_view rest_;
};

std::string json_of(const Values& values) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [key, value] : values)
    if (value != "null") json.key(key).value(value);
  json.end_object();
  return std::move(json).finish();
}

struct Printout {
  Values values;
  std::size_t line = 1;
};

[[noreturn]] void fail(const std::string& file, std::size_t line, std::string message, Hint hint) {
  throw InputError({file, fmt::format("line {}", line), std::move(message), std::move(hint)});
}

/// Every dict with DDP's keys.
std::vector<Printout> dicts_in(std::string_view text, const std::string& file) {
  std::vector<Printout> found;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    DictReader reader(text.substr(at + 1));
    std::optional<Values> values = reader.read();
    if (!values) {
      if (reader.cut() && holds_own_key(text.substr(at)))
        fail(file, line_of(text, at), "the DDP logging data that begins here has no end",
             "Print them whole: print(ddp_model._get_ddp_logging_data())");
      continue;
    }
    at = text.size() - reader.left() - 1;
    if (!std::ranges::any_of(kOwnKeys, [&](std::string_view key) { return values->contains(key); }))
      continue;
    if (found.size() < kMostPrintouts) found.push_back({std::move(*values), line_of(text, at)});
  }
  return found;
}

/// Splits "[rank0]:bucket_cap_bytes: 26214400". The key is the last word in front of the first ":
/// ", if it is one of DDP's keys.
std::optional<std::pair<std::string_view, std::string_view>> key_and_value(std::string_view line) {
  line = trimmed(line);
  const std::size_t colon = line.find(": ");
  const bool empty = line.ends_with(':');
  if (colon == std::string_view::npos && !empty) return std::nullopt;
  std::string_view key = line.substr(0, std::min(colon, line.size() - (empty ? 1 : 0)));
  if (const std::size_t blank = key.find_last_of(" :>]|"); blank != std::string_view::npos)
    key.remove_prefix(blank + 1);
  if (key.empty() ||
      key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string_view::npos)
    return std::nullopt;
  return std::pair(
      key, colon == std::string_view::npos ? std::string_view() : trimmed(line.substr(colon + 2)));
}

/// C++ prints numbers and texts in the same way. These keys have texts, even if they look like
/// numbers.
std::string token_of(std::string_view key, std::string_view value) {
  constexpr std::array<std::string_view, 8> kTexts = {"bucket_sizes",
                                                      "rebuilt_bucket_sizes",
                                                      "prev_iteration_grad_ready_order_indices",
                                                      "rebuilt_per_bucket_param_indices",
                                                      "dtypes",
                                                      "backend_name",
                                                      "module_name",
                                                      "comm_hook"};
  if (std::ranges::find(kTexts, key) != kTexts.end()) return string_token(value);
  return DictReader::scalar(value).value_or(string_token(value));
}

/// Blocks of "key: value" lines. A key that occurs again begins another block.
std::vector<Printout> blocks_in(std::string_view text) {
  std::vector<Printout> found;
  Printout block;
  const auto close = [&] {
    if (std::ranges::any_of(kOwnKeys,
                            [&](std::string_view key) { return block.values.contains(key); }) &&
        found.size() < kMostPrintouts)
      found.push_back(std::move(block));
    block = {};
  };
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    ++number;
    const auto pair = key_and_value(line);
    if (!pair) {
      if (!trimmed(line).empty()) close();
      continue;
    }
    const auto& [key, value] = *pair;
    if (block.values.contains(key)) close();
    if (block.values.empty()) block.line = number;
    if (block.values.size() < kMostKeys) block.values.emplace(key, token_of(key, value));
  }
  close();
  return found;
}

}  // namespace

bool holds_printed_ddp_log(std::string_view text) {
  return holds_own_key(text);
}

bool begins_with_ddp_log(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  text.remove_prefix(first);
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t brace = line.find('{');
  if (brace != std::string_view::npos) {
    DictReader reader(text.substr(brace + 1));
    const std::optional<Values> values = reader.read();
    if (!values) return reader.cut() && holds_own_key(text);
    const bool own =
        std::ranges::any_of(kOwnKeys, [&](std::string_view key) { return values->contains(key); });
    const std::string_view rest = text.substr(text.size() - reader.left());
    // A training log that continues after the printout is not only DDP logging data.
    return own &&
           (rest.find_first_not_of(" \t\r\n") == std::string_view::npos || holds_own_key(rest));
  }
  const bool headed = line.find("DDP Initialized with") != std::string_view::npos;
  const auto pair = key_and_value(line);
  return holds_own_key(text) && (headed || (pair && !pair->second.empty()));
}

PrintedDdpLog read_printed_ddp_log(std::string_view text, const std::string& file) {
  std::vector<Printout> all = dicts_in(text, file);
  if (all.empty()) all = blocks_in(text);
  if (all.empty())
    throw InputError(
        {file, "", "names keys of DDP's logging data, but holds no complete printout",
         "Give the output of print(ddp_model._get_ddp_logging_data()), or the same data as JSON"});
  const Printout& last = all.back();
  const auto rank_of = [](const Printout& one) {
    const auto rank = one.values.find("rank");
    return rank == one.values.end() ? std::string() : rank->second;
  };
  for (const Printout& one : all)
    if (rank_of(one) != rank_of(last))
      fail(file, one.line,
           fmt::format("holds DDP logging data of ranks {} and {}", legible(rank_of(one), 20),
                       legible(rank_of(last), 20)),
           "Keep the data of one rank, for example rank 0");
  return {json_of(last.values), last.line, all.size()};
}

}  // namespace ddpsim
