#include "ddpsim/traces/import.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

#include "ddp_log_text.hpp"
#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/traces/ddp_log.hpp"
#include "ddpsim/traces/layer_table.hpp"
#include "ddpsim/traces/profiler_trace.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "nsys_export.hpp"
#include "opened_file.hpp"
#include "recognise.hpp"
#include "sqlite_file.hpp"
#include "trace_folder.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostText = std::size_t{256} << 20;  // for workload files and tables

[[noreturn]] void refuse(const std::filesystem::path& path, std::string message, Hint hint = {}) {
  throw InputError({path.string(), "", std::move(message), std::move(hint)});
}

void check_is_there(const std::filesystem::path& path) {
  if (path == "-") {
    refuse("command line", "standard input is not read",
           "Give the path of a trace, a workload file or a layer table");
  }
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) refuse(path, "no such file");
  if (error) refuse(path, "cannot be read: " + error.message());
}

std::string whole_text(const std::filesystem::path& path, const ByteSource& source) {
  std::string text = read_up_to(source, kMostText + 1);
  if (text.size() > kMostText) {
    refuse(path, fmt::format("is larger than {} MiB, the most this kind of file may have",
                             kMostText >> 20));
  }
  return text;
}

std::optional<std::string> said(const Workload& workload, std::string_view key) {
  for (const auto& [name, text] : workload.provenance)
    if (name == key) return text;
  return std::nullopt;
}

/// Joins a rank that ddpsim_recorder.py recorded with its all-reduces to other ranks. Its clock
/// begins with its forward.
std::optional<RankTrace> recorder_rank(const Workload& workload) {
  const RecordedWith& with = workload.recorded_with;
  const auto rank = said(workload, "rank");
  const auto step = said(workload, "recorded_step");
  if (!rank || !step || with.collectives.empty() || !workload.ranks.empty()) return std::nullopt;
  RankTrace trace{.rank = parse_number<std::int64_t>(*rank),
                  .world_size = with.world_size > 0 ? std::optional(with.world_size) : std::nullopt,
                  .step = *step,
                  .on_host_clock = with.nccl_kernels == 0};
  constexpr std::int64_t kPerNanosecond = 1000;
  for (const RecordedCollective& one : with.collectives) {
    const Duration start = workload.forward.value_or(Duration()) + one.start;
    trace.collectives.push_back({"allreduce", one.bytes, start.picoseconds() / kPerNanosecond,
                                 (start + one.duration).picoseconds() / kPerNanosecond});
  }
  return trace;
}

Imported import_workload(const std::filesystem::path& path, const ByteSource& source,
                         const ImportOptions& options) {
  if (options.iteration) {
    refuse(path, "a workload file holds one iteration already", "Leave out --iteration");
  }
  Imported result;
  result.workload = parse_workload(whole_text(path, source), path.string());
  result.rank_trace = recorder_rank(result.workload);
  result.recognised.push_back(
      fmt::format("a workload file: {} parameters", result.workload.parameters.size()));
  return result;
}

Imported import_ddp_log(const std::filesystem::path& path, const ByteSource& source,
                        const ImportOptions& options) {
  if (options.iteration) {
    refuse(path, "DDP logging data holds one iteration, the last sampled one",
           "Leave out --iteration");
  }
  return parse_ddp_log(whole_text(path, source), path.string(), options);
}

/// Replaces "FILE" in a hint by the file's name, so that the command can be run as it is.
std::string for_file(std::string hint, const std::filesystem::path& path) {
  if (const std::size_t at = hint.find("FILE"); at != std::string::npos)
    hint.replace(at, 4, path.string());
  return hint;
}

}  // namespace

bool is_recording(const std::filesystem::path& path) {
  try {
    std::error_code error;
    if (is_archive(path)) return true;  // errors in it are reported later
    if (std::filesystem::is_directory(path, error)) return holds_traces(path);
    const OpenedFile file = glance_at(path);
    // A log that names DDP's logging data somewhere is still a log.
    if (file.recognised.kind == Recognition::Kind::layer_table && holds_printed_ddp_log(file.head))
      return false;
    // Any text with commas may be a layer table, so it must be read.
    if (file.recognised.kind == Recognition::Kind::layer_table) import_opened(file, path, {});
    return file.recognised.kind != Recognition::Kind::other;
  } catch (const InputError&) {
    return false;
  }
}

Imported import_file(const std::filesystem::path& path, const ImportOptions& options) {
  check_is_there(path);
  if (is_archive(path)) return import_archive(read_archive(path), options);
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return import_folder(path, options);
  return import_opened(open_file(path, options.progress), path, options);
}

Imported import_opened(const OpenedFile& opened, const std::filesystem::path& path,
                       const ImportOptions& options) {
  const Recognition& recognised = opened.recognised;
  const ByteSource& source = opened.source;

  if (options.timing == Timing::compacted && !is_profile(recognised)) {
    refuse(path, "only a profiler trace can be compacted: this file does not hold the GPU's gaps",
           "Leave out --timing compacted, or give the trace");
  }
  Imported result;
  switch (recognised.kind) {
    case Recognition::Kind::workload:
      result = import_workload(path, source, options);
      break;
    case Recognition::Kind::profiler_trace:
      result = import_profiler_trace(source, path.string(), options);
      result.recognised.insert(
          result.recognised.begin(),
          fmt::format("a PyTorch profiler trace{}", opened.gzip ? ", compressed with gzip" : ""));
      break;
    case Recognition::Kind::nsys_export:
      if (opened.gzip) refuse(path, "is a compressed SQLite database", "Unpack it: gunzip");
      result = import_nsys_export(SqliteFile(path.string()), options);
      break;
    case Recognition::Kind::layer_table:
      if (holds_printed_ddp_log(opened.head)) {
        result = import_ddp_log(path, source, options);
        break;
      }
      if (options.iteration)
        refuse(path, "a layer table holds one iteration already", "Leave out --iteration");
      result = parse_layer_table(whole_text(path, source), path.string());
      break;
    case Recognition::Kind::ddp_log:
      result = import_ddp_log(path, source, options);
      break;
    case Recognition::Kind::other:
      if (holds_printed_ddp_log(opened.head)) {
        result = import_ddp_log(path, source, options);
        break;
      }
      refuse(path,
             recognised.looks_like.empty() ? "the format was not recognised"
                                           : "looks like " + recognised.looks_like,
             for_file(recognised.hint, path));
  }
  if (!options.gpu.empty() && result.workload.gpu.empty()) result.workload.gpu = options.gpu;
  return result;
}

}  // namespace ddpsim
