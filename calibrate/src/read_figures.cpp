// A PREDICTED or MEASURED argument -> its figures. What a file is shows in its first bytes.
#include <fmt/format.h>

#include <filesystem>

#include "collective_records.hpp"
#include "ddpsim/calibrate/measured_log.hpp"
#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/sim/recorded_all_reduces.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"
#include "figure_sources.hpp"
#include "raw_log.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestFile = 256LL << 20;

std::string beginning_of(const std::filesystem::path& path) {
  constexpr std::size_t kEnough = 4096;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  return read_up_to(file_source(path, Reading::glance), kEnough);
}

Figures figures_of_log(const std::filesystem::path& path, const std::string& text,
                       std::optional<JobShape> stated) {
  const MeasuredLog log = parse_nccl_tests_log(text, path.string(), stated);
  Figures figures;
  figures.source = path.string();
  figures.kind =
      log.timed_by == TimedBy::all_reduce_perf ? "an all_reduce_perf log" : "all-reduces of a job";
  for (const MeasuredPoint& point : log.points) {
    figures.rows.push_back({.name = fmt::format("all_reduce {} B", point.size.count()),
                            .us = point.time_us,
                            .low_us = {},
                            .high_us = {},
                            .place = point.place});
  }
  if (log.ranks > 0) figures.ranks = log.ranks;
  figures.nodes = log.nodes;
  figures.gpus_per_node = log.gpus_per_node;
  if (!log.gpu.empty()) figures.gpu = gpu_model_name(log.gpu);
  figures.recognised = log.recognised;
  figures.warnings = log.warnings;
  std::erase(figures.warnings, nodes_unknown(log.ranks));  // ranks are enough here
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
        "not all ranks were recorded: its all-reduces hold the wait for the others and are upper "
        "bounds; a prediction below them may be right");
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

}  // namespace

Figures read_figures(std::string_view argument) {
  std::error_code error;
  const bool is_file = std::filesystem::exists(std::filesystem::path(argument), error);
  if (!is_file) {
    const auto time = parse_duration(argument);
    if (time.value) return figures_of_time(*time.value, argument);
    if (!argument.empty() && argument.find_first_not_of("0123456789.") == std::string_view::npos) {
      throw InputError({std::string(argument), "", time.problem, ""});
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
  if ((json && !nccl_json) || head.starts_with("\x1f\x8b")) {
    return figures_of_recording(log.path);
  }
  const std::string text = read_file(log.path, kLargestFile);
  if (is_cap_table(text)) return figures_of_cap_table(text, file);
  return figures_of_log(log.path, text, log.stated);
}

}  // namespace ddpsim
