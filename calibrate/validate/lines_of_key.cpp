#include "lines_of_key.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "line_parts.hpp"
#include "step_key.hpp"

namespace ddpsim {
namespace {

/// The text after the key instead of a number. Absent if there is a number, or if the name is no
/// key there.
std::optional<std::string_view> no_number_behind(std::string_view line, std::string_view name) {
  constexpr std::size_t kLongestShown = 40;
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    std::size_t value = at + name.size();
    const std::size_t behind_name = value;
    while (value < line.size() &&
           std::string_view("\"' \t=:").find(line[value]) != std::string_view::npos)
      ++value;
    if (value == behind_name) continue;
    const KeyBefore key = key_before(line, value);
    if (!key.separated || key.text != name) continue;
    const std::string_view shown = line.substr(value, kLongestShown);
    const std::size_t digits = shown.find_first_not_of("-.");
    if (digits != std::string_view::npos && digits <= 2 && shown[digits] >= '0' &&
        shown[digits] <= '9')
      continue;
    if (is_of_evaluation(line.substr(0, std::min(at, kLongestHeading)))) continue;
    return shown.substr(0, shown.find_first_of(" \t,;}\"'"));
  }
  return std::nullopt;
}

/// The counts of "iter" and "step" in a line that has both.
std::optional<std::pair<double, double>> both_counts(std::string_view line) {
  line = line.substr(0, kLongestHeading);
  const auto step = number_behind(line, "step");
  for (const std::string_view small : {"iter", "iteration", "batch", "micro_step"})
    if (const auto count = number_behind(line, small); count && step)
      return std::pair(*count, *step);
  return std::nullopt;
}

}  // namespace

LinesWithoutNumber lines_without_number(std::string_view text, const StepKey& key) {
  LinesWithoutNumber lines;
  auto read = key.readings.begin();
  each_part_of_lines(text, [&](std::string_view part, std::uint32_t number, bool open) {
    while (read != key.readings.end() && read->line < number) ++read;
    if (open || (read != key.readings.end() && read->line == number)) return true;
    if (const auto shown = no_number_behind(part.substr(0, 4 * kLongestHeading), key.name)) {
      if (lines.count++ == 0) lines.shown = *shown;
      if (lines.first == 0) lines.first = number;
    }
    return true;
  });
  return lines;
}

double readings_of_a_step(std::string_view text, const StepKey& key) {
  if (key.readings.size() < 2) return 1;
  const std::vector<std::string> words = words_in_name(key.name);
  if (std::ranges::find(words, "step") != words.end()) return 1;
  // Counts between changes of "step", where "iter" has advanced by whole steps.
  std::optional<std::pair<double, double>> before, first, last;
  std::size_t changes = 0;
  each_part_of_lines(text, [&](std::string_view part, std::uint32_t number, bool) {
    if (number < key.readings.front().line) return true;
    const auto counts = both_counts(part);
    if (!counts) return before.has_value() || number == key.readings.front().line;
    if (before && counts->second > before->second) {
      if (changes++ == 0) first = counts;
      last = counts;
    }
    before = counts;
    return number < key.readings.back().line;
  });
  if (changes < 2) return 1;
  const double steps = last->second - first->second;
  const double readings = last->first - first->first;
  return steps > 0 && readings > 0 ? readings / steps : 1;
}

}  // namespace ddpsim
