#include "measured_step.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "ddpsim/calibrate/step_times.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/sim/quantile.hpp"
#include "ddpsim/sim/step_spread.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

/// Longer ones are of another unit; sums of so many days still fit into 63 bits of picoseconds.
constexpr Duration kLongest = Duration::seconds(86400);

struct StepFile {
  std::string name;
  std::string column;  ///< empty: the one that is of step times
};

/// FILE or FILE:COLUMN, where there is such a file.
std::optional<StepFile> step_file(const std::string& text) {
  const auto is_file = [](const std::string& name) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(name, ignored);
  };
  if (is_file(text)) return StepFile{text, ""};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || !is_file(text.substr(0, colon))) return std::nullopt;
  return StepFile{text.substr(0, colon), text.substr(colon + 1)};
}

MeasuredStep median_of(const MeasuredSteps& measured) {
  MeasuredStep step{.median = quantile(measured.steps, 0.5)};
  if (const auto spread = step_spread(measured.steps))
    step.spread = MeasuredSpread{.steps = spread->steps,
                                 .low = spread->next_low,
                                 .high = spread->next_high,
                                 .source = measured.source};
  return step;
}

}  // namespace

MeasuredStep parse_measured_step(const std::string& text) {
  const Parsed<Duration> parsed = parse_duration(text);
  if (!parsed.value) {
    if (const auto file = step_file(text))
      return median_of(read_step_times(file->name, file->column));
    throw UsageError(fmt::format(
        "--measured-step: {}; or a file of step times, FILE or FILE:COLUMN", parsed.problem));
  }
  if (*parsed.value <= Duration()) throw UsageError("--measured-step: must be longer than zero");
  if (*parsed.value > kLongest)
    throw UsageError("--measured-step: a step of more than a day; check the unit");
  return {.median = *parsed.value};
}

void require_possible(const MeasuredStep& measured, const Job& job, const std::string& workload) {
  const Duration stream = longest_stream(job);
  if (measured.median >= stream.scaled(kFastestGpu)) return;
  throw InputError(
      {.file = workload,
       .where = "",
       .message = fmt::format("--measured-step {:.6g} ms is shorter than what the GPU computes in "
                              "the recorded step: {:.6g} ms of forward, backward and optimizer, by "
                              "a GPU of the same kind {:.6g} ms at least",
                              measured.median.milliseconds(), stream.milliseconds(),
                              stream.scaled(kFastestGpu).milliseconds()),
       .hint = "Check its unit and whether it is this job's; if the GPU waited for its host while "
               "it was recorded, take the gaps out of the trace with --timing compacted"});
}

std::string contradiction(const Replay& replay) {
  return fmt::format(
      "--measured-step {:.6g} ms, but {:.6g} ms are predicted: another job, or another unit?",
      replay.measured.milliseconds(), replay.predicted.milliseconds());
}

}  // namespace ddpsim
