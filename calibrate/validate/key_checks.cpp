#include "key_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "key_kinds.hpp"
#include "lines_of_key.hpp"

namespace ddpsim {
namespace {

/// "1,234" in milliseconds is a plausible step; in seconds it more likely means 1.234.
constexpr double kThousands_s = 600;

std::string without_comma(std::string text) {
  std::erase(text, ',');
  return text;
}

std::string_view unit_word(double seconds) {
  return seconds < 1e-7 ? "ns" : seconds < 1e-4 ? "us" : seconds < 0.1 ? "ms" : "s";
}

}  // namespace

std::optional<std::string> KeyChecks::require_understood(const StepKey& key) const {
  if (!key.problem.empty())
    fail(key.problem_line, fmt::format("{}: {}", in_quotes(key.name), key.problem),
         key.meaning.doubt ? fmt::format("If it is of one step, state that: {}", typed(key))
         : key.ranks > 1
             ? std::string("Give the lines of one rank, or write the step's number in each line")
             : std::string("Expected a number with its unit, such as \"step_time=0.123 s\""));
  if (key.readings.empty()) {
    if (key.of_evaluation > 0)
      fail("", fmt::format("{} appears only in lines of an evaluation", in_quotes(key.name)),
           "Give the steps of training");
    if (choice_.found.cut_off) fail_cut_off();
    fail("", fmt::format("{} {} is empty", noun(), in_quotes(key.name)), "Give another");
  }
  if (key.own_units > 0) {
    if (choice_.asked.unit && key.asked)
      fail(key.readings.front().line,
           fmt::format("the numbers of {} have another unit than the one you stated",
                       in_quotes(key.name)),
           key.meaning.unit_s ? std::string("Give a file whose numbers have one unit")
                              : fmt::format("Leave the unit out: {}", typed(key)));
    fail(key.readings.front().line,
         fmt::format("{} has one unit in its name and another after its numbers",
                     in_quotes(key.name)),
         fmt::format("If the one after the numbers is right: {}",
                     typed(key, unit_word(key.first_own_s))));
  }
  require_unit(key);
  if (key.thousands.empty()) return std::nullopt;
  const bool large = std::ranges::any_of(
      key.readings, [](const StepReading& one) { return !(one.value < kThousands_s); });
  if (large)
    fail(key.thousands_line,
         fmt::format("{}: {} may be thousands or decimals", in_quotes(key.name),
                     in_quotes(key.thousands)),
         "Write its numbers without a comma");
  return fmt::format("{}: {} is read as {}, because no number has a decimal comma", choice_.file,
                     key.thousands, without_comma(key.thousands));
}

void KeyChecks::require_unit(const StepKey& key) const {
  if (key.without_unit_text.empty()) return;
  require_no_clock(key);
  const std::string shown =
      choice_.form == StepForm::table
          ? fmt::format("{} in column {}", in_quotes(key.without_unit_text), in_quotes(key.name))
          : in_quotes(key.name);
  fail(key.without_unit, shown + " has no unit",
       fmt::format("State its unit, as in {}", typed(key, "s")));
}

void KeyChecks::require_no_clock(const StepKey& key) const {
  if (!is_clock(key)) return;
  fail(key.readings.front().line,
       fmt::format("{} is a clock: it holds instants counted from 1970, not durations",
                   in_quotes(key.name)),
       "Give the times of steps");
}

void KeyChecks::require_steps(const StepKey& key) const {
  require_no_clock(key);
  if (choice_.form != StepForm::lines) return;
  const double several = readings_of_a_step(choice_.text, key);
  if (several < 1.5) return;
  double sum = 0;
  for (const StepReading& one : key.readings) sum += one.value;
  fail("",
       fmt::format("{} is of a micro-batch; by the counts in its lines, a step has {:.3g} of them",
                   in_quotes(key.name), several),
       fmt::format("Give the time of a step, such as {:.4g}ms, which is {:.3g} times their mean",
                   1e3 * several * sum / static_cast<double>(key.readings.size()), several));
}

void KeyChecks::fail_cut_off() const {
  fail("", "ends in the middle of a line, which has its only step time",
       "End the last line with a newline if it is complete");
}

void KeyChecks::fail(const std::string& place, std::string message, Hint hint) const {
  throw InputError({choice_.file, place, std::move(message), std::move(hint)});
}

void KeyChecks::fail(std::uint32_t line, std::string message, Hint hint) const {
  fail(line == 0 ? std::string() : fmt::format("line {}", line), std::move(message),
       std::move(hint));
}

std::string KeyChecks::typed(const StepKey& key, std::string_view unit) const {
  return typed(key.name, unit);
}

std::string KeyChecks::typed(std::string_view name, std::string_view unit) const {
  std::string text =
      fmt::format("{}:{}{}{}", choice_.file, legible(name, 200), unit.empty() ? "" : "=", unit);
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
  });
  return plain ? text : '\'' + text + '\'';
}

const char* KeyChecks::noun() const {
  return choice_.form == StepForm::table ? "column" : "key";
}

std::string KeyChecks::names_of(const std::vector<const StepKey*>& keys) const {
  std::vector<std::string> names;
  for (const StepKey* key : keys) names.push_back(key->name);
  return legible(fmt::format("{}", fmt::join(names, ", ")), 200);
}

}  // namespace ddpsim
