// Finds out which form a text has: a table, a document, or lines of a log.
#include "ddpsim/calibrate/validate/step_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "ddpsim/calibrate/validate/step_argument.hpp"
#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "step_choice.hpp"
#include "step_document.hpp"
#include "step_lines.hpp"
#include "step_readings.hpp"
#include "step_table.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestStepTimes = 256LL << 20;

[[noreturn]] void fail_reading(const std::string& file, std::string message, Hint hint) {
  throw InputError({file, "", std::move(message), std::move(hint)});
}

/// The mean over all steps of transformers.Trainer's last complete run.
MeasuredSteps steps_of_trainer(const StepDocument& state, const std::string& file) {
  if (!state.ended)
    fail_reading(file, "this run has not ended (no train_runtime), so it has no step time",
                 "Let the run end, give a log with its steps, or the mean itself, such as 104ms");
  if (!(state.end >= 1) || !(state.end <= 1e12))
    fail_reading(
        file, "train_runtime comes without the step at which it ended",
        "Expected {\"step\": 500, \"train_runtime\": 61.3} as transformers.Trainer writes it");
  const double steps = state.begin < 0 ? 0 : state.end - state.begin;
  if (!(steps >= 1))
    fail_reading(
        file,
        "the number of steps in train_runtime is unknown: the count of steps goes back or stops, "
        "as in a resumed run",
        "Give times of single steps, or the mean itself, such as 104ms");
  const double seconds = state.run_s / steps;
  const std::optional<Duration> mean = step_of_seconds(seconds);
  if (!mean)
    fail_reading(file, fmt::format("a step of {:.6g} s", seconds),
                 "Expected a time above zero and below a day");
  return {.steps = {*mean},
          .source = fmt::format(
              "1 value of train_runtime over {:.0f} steps{}: their mean, with all evaluation, "
              "saving and startup; too short if the run was resumed",
              steps, state.begin > 0 ? fmt::format(" after the first {:.0f}", state.begin) : "")};
}

/// Whether keys in log_history hold steps, apart from transformers' own mean.
bool has_steps_of_its_own(const StepReadings& found) {
  for (const StepKey& key : found.keys)
    if (key.asked ||
        (key.meaning.of != StepTimeName::Of::items && !key.name.ends_with("steps_per_second")))
      return true;
  return false;
}

bool is_one_object(std::string_view line) {
  StepReadings ignored{StepTimesAsked{}};
  DecimalMark mark("");
  return read_step_object(line, 1, mark, ignored);
}

/// Refuses compressed files, and text in another encoding. Such text has zeros between its letters,
/// or a mark at the start.
void require_text(std::string_view text, const std::string& file) {
  if (is_gzip(text)) fail_reading(file, "is compressed by gzip", "Unpack it: gunzip -k " + file);
  constexpr std::size_t kFront = 256;
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
      text.substr(0, kFront).find('\0') != std::string_view::npos)
    fail_reading(file, "is not UTF-8 text: it has zeros between its letters, like UTF-16",
                 "PowerShell's > writes UTF-16; convert it: iconv -f UTF-16 -t UTF-8");
}

/// Removes the codes that colour a terminal ("\x1B[34m"). Codes that move its cursor become a
/// blank.
std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t at = std::min(text.find("\x1B["), text.size());
    plain += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    const std::size_t end = text.find_first_not_of("0123456789;:?", 2);
    if (end == std::string_view::npos) break;
    if (text[end] != 'm' && text[end] != 'K') plain += ' ';
    text.remove_prefix(end + 1);
  }
  return plain;
}

/// Absent if the text is no document, but lines that may contain some.
std::optional<MeasuredSteps> steps_in_document(std::string_view text, const std::string& file,
                                               const StepTimesAsked& asked) {
  std::string_view rest = trimmed(text);
  if (rest.empty() || (rest.front() != '{' && rest.front() != '[')) return std::nullopt;
  const std::string_view line = take_line(rest);
  if (!trimmed(rest).empty() && line.size() > 2 && is_one_object(trimmed(line)))
    return std::nullopt;
  StepReadings found(asked);
  StepDocument document;
  try {
    document = read_step_document(text, file, found);
  } catch (const InputError&) {
    // "[rank0] step_time=0.1 s" and "{'loss': tensor(1.2)}" are lines of a log; a cut-off text is
    // not.
    if (trimmed(text).front() == '[' || text.find('"') == std::string_view::npos)
      return std::nullopt;
    if (text.find("\"log_history\"") != std::string_view::npos) throw;
    StepReadings lines(asked);
    read_step_lines(text, lines);
    if (lines.keys.empty()) throw;
    return std::nullopt;
  }
  if (!document.schema.empty())
    fail_reading(
        file,
        fmt::format("is a {} document of ddpsim, not a record of a training", document.schema),
        "Give the output of the training, or a time such as 104ms");
  found.settle();
  if (document.is_trainer_state && asked.key.empty() && !has_steps_of_its_own(found))
    return steps_of_trainer(document, file);
  return choose_steps(
      {.found = found, .asked = asked, .file = file, .form = StepForm::document, .columns = {}});
}

}  // namespace

std::optional<StepTimeUnit> parse_step_time_unit(std::string_view text) {
  StepTimeUnit unit;
  if (const auto seconds = unit_in_seconds(in_small_letters(text))) {
    unit.unit_s = *seconds;
    return unit;
  }
  std::string_view count = text;
  if (const auto number = take_number<double>(count);
      number && *number > 0 && *number < 1e15 && count == "/step") {
    unit.kind = StepTimeUnit::Kind::items_of_step;
    unit.count = *number;
    return unit;
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string above = in_small_letters(text.substr(0, slash));
  std::string_view rest = text.substr(slash + 1);
  const std::size_t second = rest.find('/');
  const std::string below = in_small_letters(rest.substr(0, second));
  const auto seconds_above = unit_in_seconds(above);
  const auto seconds_below = unit_in_seconds(below);
  if (second == std::string_view::npos && seconds_above && is_step_word(below)) {
    unit.unit_s = *seconds_above;
    return unit;
  }
  if (!seconds_below) return std::nullopt;
  unit.unit_s = *seconds_below;
  if (second == std::string_view::npos && is_step_word(above)) {
    unit.kind = StepTimeUnit::Kind::rate;
    return unit;
  }
  if (!is_item_word(above) || is_token_word(above)) return std::nullopt;
  unit.kind = StepTimeUnit::Kind::items;
  if (second == std::string_view::npos) return unit;
  rest.remove_prefix(second + 1);
  const auto gpus = take_number<int>(rest);
  if (gpus && (*gpus < 1 || *gpus > 10'000'000)) return std::nullopt;
  unit.gpus = gpus.value_or(1);
  return is_gpu_word(in_small_letters(rest)) ? std::optional(unit) : std::nullopt;
}

MeasuredSteps parse_step_times(std::string_view text, const std::string& file,
                               const StepTimesAsked& asked) {
  require_text(text, file);
  std::string plain;
  if (text.find("\x1B[") != std::string_view::npos) text = plain = without_escapes(text);
  if (auto steps = steps_in_document(text, file, asked)) return std::move(*steps);
  StepReadings found(asked);
  if (is_step_table(text, asked.key)) {
    std::vector<std::string> columns;
    read_step_table(text, file, found, columns);
    found.settle();
    // Lines of a log may have a heading like that of columns: "Step\tImg/sec" above "1\timages/sec:
    // 771.2".
    const bool numbers =
        std::ranges::any_of(found.keys, [](const StepKey& key) { return !key.readings.empty(); });
    StepReadings lines(asked);
    if (!numbers && !found.too_many) read_step_lines(text, lines);
    lines.settle();
    if (std::ranges::any_of(lines.keys, [](const StepKey& key) { return !key.readings.empty(); }))
      return choose_steps(
          {.found = lines, .asked = asked, .file = file, .columns = {}, .text = text});
    return choose_steps({.found = found,
                         .asked = asked,
                         .file = file,
                         .form = StepForm::table,
                         .columns = std::move(columns)});
  }
  read_step_lines(text, found);
  found.settle();
  return choose_steps({.found = found, .asked = asked, .file = file, .columns = {}, .text = text});
}

MeasuredSteps read_step_times(const std::string& file, const StepTimesAsked& asked) {
  return parse_step_times(read_file(file, kLargestStepTimes), file, asked);
}

}  // namespace ddpsim
