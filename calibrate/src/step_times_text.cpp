#include "step_times_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/number.hpp"
#include "step_time_name.hpp"

namespace ddpsim {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view letters_before(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  return text.substr(begin);
}

std::string_view letters_after(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_letter(text[end])) ++end;
  return text.substr(0, end);
}

/// The number that ends `text`, blanks apart.
std::optional<double> number_before(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  const std::size_t other = text.find_last_not_of("0123456789.");
  return parse_number<double>(text.substr(other == std::string_view::npos ? 0 : other + 1));
}

std::string_view key_part(std::string_view before) {
  const std::size_t other = before.find_last_of("=:,|;[{\t\"'");
  // A quote may close the key itself: 'step_time': 0.1
  if (other != std::string_view::npos && other + 1 == before.size() &&
      (before[other] == '\'' || before[other] == '"'))
    return key_part(before.substr(0, other));
  return other == std::string_view::npos ? before : before.substr(other + 1);
}

class LineScan {
 public:
  LineScan(std::string_view line, std::size_t number, LoggedSteps& found)
      : line_(line), number_(number), found_(found) {}

  void run() {
    for (std::size_t i = line_.find_first_of("/=:");
         i != std::string_view::npos && !found_.too_many; i = line_.find_first_of("/=:", i + 1)) {
      if (line_[i] == '/')
        take_rate(i);
      else
        take_key(i);
    }
  }

 private:
  void add(std::string_view key, double seconds) {
    auto at = std::ranges::find(found_.keys, key);
    found_.too_many = found_.steps.size() == kMostSteps ||
                      (at == found_.keys.end() && found_.keys.size() == kMostStepKeys);
    if (found_.too_many) return;
    if (at == found_.keys.end()) at = found_.keys.emplace(at, key);
    found_.steps.push_back({.seconds = seconds,
                            .line = static_cast<std::uint32_t>(number_),
                            .key = static_cast<std::uint32_t>(at - found_.keys.begin())});
  }

  /// "123.4 ms/step", "5.67it/s"
  void take_rate(std::size_t slash) {
    const std::string_view left = letters_before(line_.substr(0, slash));
    const std::string_view right = letters_after(line_.substr(slash + 1));
    const auto number = number_before(line_.substr(0, slash - left.size()));
    if (!number || left.empty()) return;
    if (const auto unit = unit_in_seconds(left); unit && is_step_word(right)) {
      // tqdm writes s/it where a step takes longer than a second, else it/s: one key.
      add(right == "it" ? "it/s" : fmt::format("{}/{}", left, right), *number * *unit);
    } else if (const auto per = unit_in_seconds(right); per && is_step_word(left)) {
      add(left == "it" ? "it/s" : fmt::format("{}/{}", left, right), *per / *number);
    }
  }

  /// "step_time=0.123 s"
  void take_key(std::size_t separator) {
    const auto key = step_time_key(key_part(trimmed(line_.substr(0, separator))));
    if (!key) return;
    std::string_view rest = line_.substr(separator + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \"'"), rest.size()));
    const auto number = take_number<double>(rest);
    if (!number) return;
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::string_view behind = letters_after(rest);
    if (rest.substr(behind.size()).starts_with('/')) return;  // "step time: 123 ms/step" is a rate
    std::optional<double> unit = key->name.unit_s;
    if (!unit) unit = unit_in_seconds(behind);
    double seconds = std::numeric_limits<double>::quiet_NaN();
    if (unit) seconds = key->name.rate ? *unit / *number : *number * *unit;
    add(trimmed(key->text), seconds);
  }

  std::string_view line_;
  std::size_t number_;
  LoggedSteps& found_;
};

}  // namespace

LoggedSteps logged_steps(std::string_view text) {
  LoggedSteps found;
  for (std::size_t number = 1; !text.empty() && !found.too_many; ++number) {
    std::string_view line = take_line(text);
    while (!line.empty()) {
      const std::size_t end = line.find('\r');
      LineScan(line.substr(0, end), number, found).run();
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
  }
  return found;
}

}  // namespace ddpsim
