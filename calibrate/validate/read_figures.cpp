// Reads the values of a PREDICTED or MEASURED argument. The first bytes of a file show what it is.
#include <fmt/format.h>

#include <filesystem>

#include "collective_records.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/calibrate/logs/recorded_log.hpp"
#include "ddpsim/calibrate/validate/step_argument.hpp"
#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"
#include "figure_sources.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestFile = 256LL << 20;

std::string beginning_of(const std::filesystem::path& path) {
  constexpr std::size_t kEnough = 4096;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  return read_up_to(file_source(path, Reading::glance), kEnough);
}

Figures figures_of_log(const MeasuredLog& log, const std::string& file) {
  Figures figures;
  figures.source = file;
  figures.kind =
      log.timed_by == TimedBy::all_reduce_perf ? "an all_reduce_perf log" : "all-reduces of a job";
  for (const MeasuredPoint& point : log.points) {
    figures.rows.push_back({.name = fmt::format("all_reduce {} B", point.size.count()),
                            .us = point.time_us,
                            .low_us = {},
                            .high_us = {},
                            .place = point.place});
  }
  figures.digest = digest_of(log.points);
  if (log.ranks > 0) figures.ranks = log.ranks;
  figures.nodes = log.nodes;
  figures.gpus_per_node = log.gpus_per_node;
  if (!log.gpu.empty()) figures.gpu = gpu_model_name(log.gpu);
  figures.recognised = log.recognised;
  figures.warnings = log.warnings;
  std::erase(figures.warnings, nodes_unknown(log.ranks));  // the number of ranks is enough here
  return figures;
}

Figures figures_of_time(Duration time, std::string_view argument) {
  Figures figures;
  figures.source = std::string(argument);
  figures.kind = "a step time";
  figures.rows.push_back(
      {.name = "iteration", .us = time.microseconds(), .low_us = {}, .high_us = {}, .place = ""});
  if (!(time > Duration())) {
    throw InputError({figures.source, "", "a step takes no time", "Expected a time above 0"});
  }
  return figures;
}

Figures figures_of_steps(const MeasuredSteps& measured, const std::string& file) {
  Figures figures = figures_of_time(quantile(measured.steps, 0.5), file);
  figures.kind = measured.steps.size() == 1 ? measured.source : "the median of " + measured.source;
  figures.warnings = measured.warnings;
  return figures;
}

/// Reads a log of all-reduces or, if none is timed in it, the log of a training.
Figures figures_of_measured_text(const std::string& text, const LogArgument& argument,
                                 const StepTimesAsked& known) {
  const std::string file = argument.path.string();
  std::optional<Diagnostic> no_log;
  std::vector<MeasuredLog> logs = parse_timed_logs(text, file, argument.stated, no_log);
  if (!logs.empty()) return figures_of_log(only_log(std::move(logs), file), file);
  try {
    return figures_of_steps(parse_step_times(text, file, known), file);
  } catch (const InputError& error) {
    if (error.diagnostic().message != kNoStepTime) throw;
    if (no_log && is_of_nccl_tests(text)) throw InputError(*no_log);
    throw InputError(
        {file, "", fmt::format("{}, and no step time", kNoRow), error.diagnostic().hint});
  }
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

Figures figures_of_workload(const Workload& workload, const std::string& file) {
  Figures figures;
  figures.source = file;
  figures.kind = "a recorded step";
  const auto add = [&](std::string name, const std::optional<Duration>& time) {
    if (!time) return;
    figures.rows.push_back({.name = std::move(name),
                            .us = time->microseconds(),
                            .low_us = {},
                            .high_us = {},
                            .place = ""});
  };
  add("iteration", workload.iteration);
  add("forward", workload.forward);
  if (workload.backward) add("backward_compute", workload.backward->duration);
  add("optimizer", workload.optimizer);
  add("exposed_communication", workload.recorded_with.exposed);
  add("finalize", workload.recorded_with.finalize);
  std::size_t index = 0;
  if (!recorded_all_reduces(workload).waits_apart && !workload.recorded_with.collectives.empty())
    figures.warnings.emplace_back(
        "not all ranks were recorded, so its all-reduces include waits and are upper bounds. A "
        "prediction below them may be right");
  // The assumed shape is not part of the measurement.
  if (const auto log = recorded_log(workload, {1, workload.recorded_with.world_size}))
    figures.digest = digest_of(log->points);
  for (const RecordedCollective& one : workload.recorded_with.collectives) {
    add(fmt::format("bucket {} all_reduce", index++), one.duration);
    figures.bucket_bytes.push_back(one.bytes);
  }
  return figures;
}

namespace {

Figures figures_of_recording(const std::filesystem::path& path) {
  Imported imported = import_file(path, {});
  Figures figures = figures_of_workload(imported.workload, path.string());
  figures.recognised = std::move(imported.recognised);
  return figures;
}

/// `known` is absent if step times are not wanted.
Figures figures_of_argument(const std::string& argument, const StepTimesAsked* known) {
  std::error_code error;
  const bool is_file = std::filesystem::exists(std::filesystem::path(argument), error);
  if (!is_file) {
    const StepArgument step = parse_step_argument(argument);
    if (step.time) return figures_of_time(*step.time, argument);
    if (step.file && known != nullptr) {
      StepTimesAsked asked = *known;
      asked.key = step.file->asked.key;
      asked.unit = step.file->asked.unit;
      return figures_of_steps(read_step_times(step.file->name, asked), argument);
    }
    if (!argument.empty() && argument.find_first_not_of("0123456789.") == std::string_view::npos) {
      throw InputError({argument, "", step.problem, ""});
    }
  }
  const LogArgument log = parse_log_argument(argument);
  if (std::filesystem::is_directory(log.path, error)) return figures_of_recording(log.path);
  const std::string head = beginning_of(log.path);
  const std::string file = log.path.string();
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && head[first] == '{';
  const bool ours = json && has(head, "\"schema\"") && has(head, "ddpsim.");
  if (ours && !has(head, "ddpsim.workload/")) {
    return figures_of_document(read_file(log.path, kLargestFile), file);
  }
  const bool nccl_json = json && !ours &&
                         (has(head, "\"start_time\"") || has(head, "\"results\"") ||
                          is_inspector_log(head) || is_flight_recording(head));
  const bool may_be_steps = known != nullptr && !is_recording(log.path);
  if (((json && !nccl_json) || head.starts_with("\x1f\x8b")) && !may_be_steps) {
    return figures_of_recording(log.path);
  }
  const std::string text = read_file(log.path, kLargestFile);
  if (is_cap_table(text)) return figures_of_cap_table(text, file);
  if (known != nullptr) return figures_of_measured_text(text, log, *known);
  return figures_of_log(parse_nccl_tests_log(text, file, log.stated), file);
}

}  // namespace

Figures read_figures(std::string_view argument) {
  return figures_of_argument(std::string(argument), nullptr);
}

Figures read_measured_figures(std::string_view argument, const StepTimesAsked& known) {
  return figures_of_argument(std::string(argument), &known);
}

}  // namespace ddpsim
