// Which of the forms a text has, and what its numbers must be to be steps.
#include "ddpsim/calibrate/step_times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "step_time_name.hpp"
#include "step_times_text.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestStepTimes = 256LL << 20;
constexpr double kLongestStep_s = 86'400;
/// Of fewer steps nobody can tell a slow beginning from chance.
constexpr std::size_t kFewestForWarmUp = 10;

constexpr const char* kNameTheUnit =
    "A number alone may be anything: name the unit, as in step_time_ms or \"step_time=0.123 s\"";

class StepTimesReader {
 public:
  StepTimesReader(std::string_view text, const std::string& file, const std::string& column)
      : text_(text), file_(file), column_(column) {}

  MeasuredSteps read() {
    if (is_table())
      read_table();
    else if (!read_log() && !read_trainer_state())
      fail("", kNoStepTime,
           "Expected a column or key of step times with its unit, such as step_time_ms, or lines "
           "such as \"step_time=0.123 s\", \"123.4 ms/step\", \"5.67it/s\"; or a "
           "trainer_state.json");
    leave_out_warm_up();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& place, std::string message, std::string hint) const {
    throw InputError({file_, place, std::move(message), std::move(hint)});
  }
  [[noreturn]] void fail(std::size_t line, std::string message, std::string hint) const {
    fail(fmt::format("line {}", line), std::move(message), std::move(hint));
  }
  [[noreturn]] void refuse_too_many() const {
    fail("",
         fmt::format("holds more than {} step times, or more than {} names of them", kMostSteps,
                     kMostStepKeys),
         "Give the steps of one run; its last ones are enough");
  }
  void add(double seconds, std::size_t line);
  bool is_table() const;
  std::size_t chosen_column(const std::vector<std::string>& columns) const;
  std::optional<double> seconds_in(std::string_view cell, const std::string& column,
                                   std::size_t line) const;
  void read_table();
  bool read_log();
  std::size_t chosen_key(const std::vector<std::string>& keys) const;
  bool read_trainer_state();
  void leave_out_warm_up();

  std::string_view text_;
  const std::string& file_;
  const std::string& column_;
  MeasuredSteps result_;
};

void StepTimesReader::add(double seconds, std::size_t line) {
  if (!(seconds > 0) || !(seconds <= kLongestStep_s) || Duration::seconds(seconds) <= Duration())
    fail(line, fmt::format("a step of {:.6g} s", seconds),
         "Expected a time above zero and below a day: is the unit right?");
  if (result_.steps.size() == kMostSteps) refuse_too_many();
  result_.steps.push_back(Duration::seconds(seconds));
}

std::vector<std::string> names_in(std::string_view line) {
  std::vector<std::string> names;
  for (const std::string_view cell : cells_of(line)) names.emplace_back(cell);
  return names;
}

/// By its first line: names, of which one is known or asked for; or names over as many cells.
bool StepTimesReader::is_table() const {
  std::string_view rest = text_;
  std::string_view lines[2];
  for (std::string_view& line : lines)
    while (line.empty() && !rest.empty()) {
      line = trimmed(take_line(rest));
      if (line.starts_with('#')) line = {};
    }
  const std::vector<std::string> names = names_in(lines[0]);
  if (!column_.empty() && std::ranges::find(names, column_) != names.end()) return true;
  if (std::ranges::any_of(names,
                          [](const std::string& name) { return step_time_name(name).has_value(); }))
    return true;
  const bool plain = lines[0].find_first_of(":={}[]\"") == std::string_view::npos;
  return names.size() > 1 && plain && cells_of(lines[1]).size() == names.size();
}

std::size_t StepTimesReader::chosen_column(const std::vector<std::string>& columns) const {
  if (!column_.empty()) {
    const auto named = std::ranges::find(columns, column_);
    if (named == columns.end())
      fail("", fmt::format("there is no column {}", in_quotes(column_)),
           did_you_mean_or_known(column_, columns, "Its columns"));
    return static_cast<std::size_t>(named - columns.begin());
  }
  std::vector<std::string> known;
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!step_time_name(columns[i])) continue;
    known.push_back(columns[i]);
    chosen = i;
  }
  if (known.size() > 1)
    fail("", fmt::format("{} columns are of step times: {}", known.size(), fmt::join(known, ", ")),
         fmt::format("Say which: {}:{}", file_, known.front()));
  if (known.empty())
    fail("",
         fmt::format("no column is named as step times are; there are {}",
                     legible(fmt::format("{}", fmt::join(columns, ", ")), 200)),
         fmt::format("Say which, with its unit in its name, such as step_time_ms: {}:COLUMN",
                     file_));
  return chosen;
}

/// Absent: the cell is empty.
std::optional<double> StepTimesReader::seconds_in(std::string_view cell, const std::string& column,
                                                  std::size_t line) const {
  if (cell.empty()) return std::nullopt;
  const auto number = parse_number<double>(cell);
  if (!number) {
    const Parsed<Duration> stated = parse_duration(cell);
    if (stated.value) return stated.value->seconds();
    fail(line, fmt::format("{} in column {} is no time", in_quotes(cell), in_quotes(column)),
         "Expected a number, or nothing");
  }
  const StepTimeName name = unit_in_name(column);
  if (!name.unit_s)
    fail(line, fmt::format("{} in column {} has no unit", in_quotes(cell), in_quotes(column)),
         kNameTheUnit);
  return name.rate ? *name.unit_s / *number : *number * *name.unit_s;
}

void StepTimesReader::read_table() {
  std::string_view rest = text_;
  std::vector<std::string> columns;
  std::size_t chosen = 0;
  std::size_t empty = 0;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = trimmed(take_line(rest));
    if (line.empty() || line.starts_with('#')) continue;
    if (columns.empty()) {
      columns = names_in(line);
      if (std::ranges::find(columns, "bucket_cap_mb") != columns.end())
        fail(number, "its rows are steps under several caps (bucket_cap_mb)",
             "Give the steps of one setting; `ddpsim validate` reads tables of caps");
      chosen = chosen_column(columns);
      continue;
    }
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.size() > columns.size())
      fail(number, fmt::format("{} cells under {} names", cells.size(), columns.size()),
           "Expected a table with commas between cells, and none within");
    const auto seconds =
        chosen < cells.size() ? seconds_in(cells[chosen], columns[chosen], number) : std::nullopt;
    if (seconds)
      add(*seconds, number);
    else
      ++empty;
  }
  const std::string name = in_quotes(columns[chosen]);
  if (result_.steps.empty()) fail("", fmt::format("column {} is empty", name), "Give another");
  result_.source = "column " + name;
  if (empty > 0)
    result_.source += fmt::format("; {} row{} without one", empty, empty == 1 ? " is" : "s are");
}

/// Index of the key asked for, or of the only one. Empty strings are keys that do not count.
std::size_t StepTimesReader::chosen_key(const std::vector<std::string>& all) const {
  std::vector<std::string> keys = all;
  std::erase(keys, "");
  if (!column_.empty()) {
    const auto named = std::ranges::find(all, column_);
    if (named == all.end())
      fail("", fmt::format("there is no key {}", in_quotes(column_)),
           did_you_mean_or_known(column_, keys, "Of step times there are"));
    return static_cast<std::size_t>(named - all.begin());
  }
  if (keys.size() > 1)
    fail("",
         fmt::format("{} keys are of step times: {}", keys.size(),
                     legible(fmt::format("{}", fmt::join(keys, ", ")), 200)),
         fmt::format("Say which: {}:{}", file_, legible(keys.front())));
  return static_cast<std::size_t>(std::ranges::find(all, keys.front()) - all.begin());
}

bool StepTimesReader::read_log() {
  // transformers.Trainer's own mean: least of what a text may have, and its state has it with more digits.
  constexpr std::string_view kMean = "train_steps_per_second";
  LoggedSteps found = logged_steps(text_);
  if (found.too_many) refuse_too_many();
  const bool means_alone =
      std::ranges::all_of(found.keys, [&](const std::string& key) { return key == kMean; });
  if (means_alone &&
      (found.keys.empty() || text_.find("\"log_history\"") != std::string_view::npos))
    return false;
  if (!means_alone)
    std::replace(found.keys.begin(), found.keys.end(), std::string(kMean), std::string());
  const std::size_t chosen = chosen_key(found.keys);
  const std::string& key = found.keys[chosen];
  for (const LoggedStep& one : found.steps) {
    if (one.key != chosen) continue;
    if (std::isnan(one.seconds))
      fail(one.line, fmt::format("{} has no unit", in_quotes(key)), kNameTheUnit);
    add(one.seconds, one.line);
  }
  result_.source = fmt::format("{} in its lines", in_quotes(key));
  if (key == "it/s") result_.source += " (a running mean, where a progress bar wrote it)";
  return true;
}

/// The number behind `key` in a flat JSON object.
std::optional<double> number_at(std::string_view object, std::string_view key) {
  std::size_t at = object.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = object.find_first_not_of(" \t\r\n:", at + key.size());
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = object.substr(at);
  return take_number<double>(rest);
}

constexpr std::string_view kRuntime = "\"train_runtime\"";

struct RunOfTrainer {
  std::optional<double> begin = 0;  ///< absent: it was resumed, where is not said
  double end = 0;
  double seconds = 0;
};

/// The run that the last train_runtime is of. A later run continues the list: its count goes on from that of the
/// run before, or begins anew, at most one entry's distance from 0.
std::optional<RunOfTrainer> last_run(std::string_view history) {
  std::optional<RunOfTrainer> found;
  RunOfTrainer run;
  std::optional<double> again;  // the entry at which the count went back
  while (!history.empty()) {
    const std::string_view entry = history.substr(0, history.find('}'));
    history.remove_prefix(std::min(history.size(), entry.size() + 1));
    const auto step = number_at(entry, "\"step\"");
    if (!step) {
      if (number_at(entry, kRuntime)) found.reset();
      continue;
    }
    if (*step < run.end) {
      again = step;
      run.begin.reset();
    } else if (again && *step > *again) {
      if (*again <= *step - *again) run.begin = 0;
      again.reset();
    }
    run.end = *step;
    const auto seconds = number_at(entry, kRuntime);
    if (!seconds) continue;
    run.seconds = *seconds;
    found = run;
    run.begin = run.end;
    again.reset();
  }
  return found;
}

/// transformers.Trainer notes at the end of training, in log_history, {"step": 500, "train_runtime": 61.3}:
/// seconds of all steps together (speed_metrics in trainer_utils.py). Read as text: of a loss that was
/// none it writes NaN, which is no JSON.
bool StepTimesReader::read_trainer_state() {
  const std::size_t at = text_.rfind(kRuntime);
  if (at == std::string_view::npos) return false;
  const auto line = static_cast<std::size_t>(
      1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  const auto run = last_run(text_);
  if (!run || !(run->end >= 1) || !(run->end <= 1e12))
    fail(line, "train_runtime stands without the step it ended at",
         "Expected {\"step\": 500, \"train_runtime\": 61.3} as transformers.Trainer writes it");
  const double steps = run->begin ? run->end - *run->begin : 0;
  if (!(steps >= 1))
    fail(line,
         "over how many steps train_runtime is cannot be told: the count of steps goes back, or "
         "stands, as a resumed run makes it",
         "Give times of single steps, or the mean itself: --measured-step 104ms");
  add(run->seconds / steps, line);
  result_.source = fmt::format(
      "train_runtime over {:.0f} steps{}: their mean, with all evaluation, saving and starting up; "
      "too short where the run was resumed from a checkpoint",
      steps, *run->begin > 0 ? fmt::format(" after the first {:.0f}", *run->begin) : "");
  return true;
}

/// The first steps of a run compile, allocate and wait for data. Those at the front that took longer than
/// every step of the second half are not steps like it.
void StepTimesReader::leave_out_warm_up() {
  std::vector<Duration>& steps = result_.steps;
  const std::size_t half = steps.size() / 2;
  std::size_t slow = 0;
  if (steps.size() >= kFewestForWarmUp) {
    const Duration longest =
        *std::max_element(steps.begin() + static_cast<std::ptrdiff_t>(half), steps.end());
    while (slow < half && steps[slow] > longest) ++slow;
  }
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(slow));
  result_.source =
      fmt::format("{} value{} of {}", steps.size(), steps.size() == 1 ? "" : "s", result_.source);
  if (slow > 0)
    result_.source +=
        fmt::format("; the first {} left out as warm-up: longer than every one of the second half",
                    slow == 1 ? "is" : fmt::format("{} are", slow));
}

}  // namespace

MeasuredSteps parse_step_times(std::string_view text, const std::string& file,
                               const std::string& column) {
  return StepTimesReader(text, file, column).read();
}

MeasuredSteps read_step_times(const std::string& file, const std::string& column) {
  return parse_step_times(read_file(file, kLargestStepTimes), file, column);
}

}  // namespace ddpsim
