#include "ddpsim/calibrate/validate/step_argument.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

bool is_step_file(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(name, ignored);
}

/// A time from a rate: "9.6it/s", "0.104s/it".
std::optional<Duration> time_of_rate(std::string_view text) {
  const auto number = take_number<double>(text);
  const auto unit = parse_step_time_unit(text);
  if (!number || !unit || text.find('/') == std::string_view::npos) return std::nullopt;
  double seconds = 0;
  if (unit->kind == StepTimeUnit::Kind::rate) seconds = unit->unit_s / *number;
  if (unit->kind == StepTimeUnit::Kind::time) seconds = unit->unit_s * *number;
  // Longer than any step, but still within 63 bits of picoseconds.
  constexpr double kLongest_s = 1e6;
  if (!(seconds > 0) || !(seconds < kLongest_s)) return std::nullopt;
  return Duration::seconds(seconds);
}

}  // namespace

StepTimesAsked parse_step_times_asked(const std::string& text, const std::string& key) {
  StepTimesAsked asked{.key = key};
  const std::size_t equals = key.rfind('=');
  if (equals == std::string::npos) return asked;
  asked.key = key.substr(0, equals);
  asked.unit = parse_step_time_unit(std::string_view(key).substr(equals + 1));
  if (!asked.unit)
    throw InputError(
        {text, "", fmt::format("{} is not a unit of step times", in_quotes(key.substr(equals + 1))),
         fmt::format("Expected FILE:KEY=UNIT, where UNIT is {}", kStepTimeUnits)});
  if (asked.key.empty())
    throw InputError(
        {text, "", "names a unit but no key", "Expected FILE:KEY=UNIT, such as train.log:time=s"});
  return asked;
}

StepArgument parse_step_argument(const std::string& text) {
  StepArgument argument;
  const Parsed<Duration> parsed = parse_duration(text);
  argument.time = parsed.value ? parsed.value : time_of_rate(text);
  if (argument.time) return argument;
  if (is_step_file(text)) {
    argument.file = StepFile{text, {}};
    return argument;
  }
  // A key may contain colons, and so may the name of a file.
  for (std::size_t colon = text.rfind(':'); colon != std::string::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    if (!is_step_file(text.substr(0, colon))) continue;
    argument.file =
        StepFile{text.substr(0, colon), parse_step_times_asked(text, text.substr(colon + 1))};
    return argument;
  }
  argument.problem = parsed.problem;
  return argument;
}

}  // namespace ddpsim
