#include "diff_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "ddpsim/calibrate/measured_log.hpp"
#include "ddpsim/calibrate/step_times.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "workload_source.hpp"

namespace ddpsim {
namespace {

constexpr const char* kWhatIsRead =
    "Expected a trace, a folder of them or FILE,FILE,… of several ranks, a workload file, DDP "
    "logging "
    "data, step times (a file, FILE:COLUMN or 104ms) or an nccl-tests log";
/// Longer steps are of another unit.
constexpr Duration kLongestStep = Duration::seconds(86400);

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::vector<std::filesystem::path> files_in(const std::string& text) {
  std::vector<std::filesystem::path> files;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    files.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  return files;
}

/// FILE,FILE,… of several ranks.
bool is_file_list(const std::string& text) {
  if (text.find(',') == std::string::npos || exists(text)) return false;
  return std::ranges::all_of(files_in(text), [](const std::filesystem::path& file) {
    return !file.empty() && exists(file.string());
  });
}

void take_recording(Imported imported, DiffSide& side) {
  Workload& workload = side.workload.emplace(std::move(imported.workload));
  side.ddp_log = std::move(imported.ddp_log);
  side.joined = std::move(imported.joined);
  side.warnings = std::move(imported.warnings);
  if (!imported.alone.empty()) side.warnings.push_back(std::move(imported.alone));
  side.shown.kind = workload.ranks.size() > 1
                        ? fmt::format("recordings of {} ranks", workload.ranks.size())
                    : side.ddp_log ? std::string("DDP logging data")
                                   : std::string("a recording of one rank");
  if (workload.batch_per_gpu)
    side.shown.samples_per_step_per_gpu =
        static_cast<double>(*workload.batch_per_gpu * workload.recorded_with.accumulate);
}

/// "104ms".
bool take_step(const std::string& text, DiffSide& side) {
  const Parsed<Duration> parsed = parse_duration(text);
  if (!parsed.value) return false;
  if (*parsed.value <= Duration() || *parsed.value > kLongestStep)
    throw InputError({text, "", "no step takes so long", "Check its unit"});
  side.steps.push_back(*parsed.value);
  side.shown.kind = "a step time";
  return true;
}

void take_steps(const std::string& file, const std::string& column, DiffSide& side) {
  MeasuredSteps measured = read_step_times(file, column);
  side.steps = std::move(measured.steps);
  side.shown.kind = fmt::format("{} step times, {}", side.steps.size(), measured.source);
}

/// Where the text is a log of nccl-tests, or holds NCCL's debug lines.
bool take_log(const std::string& text, DiffSide& side) {
  const LogArgument argument = parse_log_argument(text);
  std::vector<MeasuredLog> logs;
  try {
    logs = read_measured_logs(argument.path, argument.stated);
  } catch (const InputError& error) {
    if (error.diagnostic().message == kNoRow) return false;
    throw;
  }
  const MeasuredLog& log = logs.front();
  for (const MeasuredPoint& point : log.points)
    side.all_reduces.emplace_back(point.size, Duration::microseconds(point.time_us));
  side.shown.kind = log.points.empty() ? "NCCL's debug lines" : "an all_reduce_perf log";
  side.warnings = log.warnings;
  return true;
}

}  // namespace

DiffSide read_diff_side(const std::string& text, const DiffReading& reading) {
  DiffSide side;
  side.shown.source = text;
  ImportOptions options;
  options.model = reading.model.value_or("");
  if (is_file_list(text)) {
    const std::vector<std::filesystem::path> files = files_in(text);
    take_recording(import_ranks(files, options), side);
  } else if (exists(text) && is_recording(text)) {
    take_recording(import_file(text, options), side);
  } else if (exists(text) ||
             (text.find('@') != std::string::npos && exists(text.substr(0, text.rfind('@'))))) {
    if (!take_log(text, side)) take_steps(text, "", side);
  } else if (!take_step(text, side)) {
    const std::size_t colon = text.rfind(':');
    if (colon != std::string::npos && exists(text.substr(0, colon))) {
      take_steps(text.substr(0, colon), text.substr(colon + 1), side);
    } else if (is_workload(text)) {
      LoadedWorkload loaded = load_workload(text, reading.model);
      take_recording(
          {.workload = std::move(loaded.workload), .warnings = std::move(loaded.warnings)}, side);
      side.shown.kind = "a workload";
    } else {
      throw InputError({text, "", "no such file, and no time either", kWhatIsRead});
    }
  }
  if (reading.batch && !side.shown.samples_per_step_per_gpu)
    side.shown.samples_per_step_per_gpu = static_cast<double>(*reading.batch);
  return side;
}

}  // namespace ddpsim
