// Finds out which format a text has.
#include "ddpsim/calibrate/logs/measured_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "collective_records.hpp"
#include "ddpsim/diagnose/evidence/evidence.hpp"
#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/digest.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "measured_csv.hpp"
#include "measured_step_log.hpp"
#include "measurement_json.hpp"
#include "nccl_tests_json.hpp"
#include "nccl_tests_text.hpp"
#include "raw_log.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestLog = 256LL << 20;
constexpr std::string_view kOneLink = "one link between two hosts, not an all-reduce";

/// Adds what the text's lines say about the job, with line numbers. A forced algorithm is no fault
/// in a measurement.
void add_findings(std::string_view text, RawLog& log) {
  const Evidence evidence = read_evidence(text, "line");
  std::vector<std::string> said = evidence.warnings;
  for (const Finding& finding : find_problems(evidence))
    if (finding.what != CauseClass::algorithm_forced)
      said.push_back(fmt::format("{}: {}", finding.place, finding.says));
  for (std::string& warning : said) {
    if (warning.starts_with("line:")) warning[4] = ' ';
    log.warnings.push_back(std::move(warning));
  }
}

/// Other measurement programs; none of them measures an all-reduce of NCCL.
struct OtherProgram {
  /// Text that the program prints.
  std::string_view sign;
  std::string_view name;
  std::string_view measures;
};
constexpr std::array kOtherPrograms = {
    OtherProgram{"# OSU ", "the OSU micro-benchmarks", "MPI's calls, not NCCL's"},
    OtherProgram{"nvbandwidth Version", "nvbandwidth", "copies between memories, no all-reduce"},
    OtherProgram{"P2P (Peer-to-Peer) GPU Bandwidth Latency Test", "p2pBandwidthLatencyTest",
                 "copies between two GPUs, no all-reduce"},
    OtherProgram{"RDMA_Write BW Test", "perftest's ib_write_bw", kOneLink},
    OtherProgram{"RDMA_Read BW Test", "perftest's ib_read_bw", kOneLink},
    OtherProgram{"Send BW Test", "perftest's ib_send_bw", kOneLink},
    OtherProgram{"RDMA_Write Latency Test", "perftest's ib_write_lat", kOneLink},
    OtherProgram{"RDMA_Read Latency Test", "perftest's ib_read_lat", kOneLink},
    OtherProgram{"Send Latency Test", "perftest's ib_send_lat", kOneLink},
};

/// Refuses tables with columns for sizes and for times or bandwidths whose names are unknown. They
/// would be misread.
void refuse_other_header(std::string_view text, const std::string& file) {
  if (!has_other_header(text)) return;
  throw InputError({file, "", fmt::format("the header is {}", in_quotes(first_line(text), 200)),
                    std::string(kExpectedColumns)});
}

std::vector<MeasuredLog> logs_of_text(std::string_view text, const std::string& file,
                                      std::optional<JobShape> stated) {
  RawLog log = scan_nccl_tests_text(text, file);
  add_findings(text, log);
  try {
    return measured_logs(log, stated);
  } catch (const InputError& error) {
    if (error.diagnostic().message != kNoRow) throw;
    if (const auto other = other_measurement(text, file)) throw InputError(*other);
    refuse_other_header(text, file);
    throw;
  }
}

}  // namespace

std::string settings_text(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<std::string> words;
  for (const auto& [name, value] : settings)
    if (!name.starts_with("NCCL_DEBUG") && name.find("_DUMP_") == std::string::npos)
      words.push_back(name + "=" + value);
  std::ranges::sort(words);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::optional<Diagnostic> other_measurement(std::string_view text, const std::string& file) {
  for (const OtherProgram& one : kOtherPrograms)
    if (text.find(one.sign) != std::string_view::npos)
      return Diagnostic{file, "", fmt::format("is from {}, which times {}", one.name, one.measures),
                        "Run all_reduce_perf of nccl-tests or rccl-tests, and give its output"};
  return std::nullopt;
}

std::vector<MeasuredLog> parse_measured_logs(std::string_view text, const std::string& file,
                                             std::optional<JobShape> stated) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  // "{'loss': 2.3}" starts a training's log.
  const std::size_t next =
      first == std::string_view::npos ? first : text.find_first_not_of(" \t\r\n", first + 1);
  const bool is_key = next == std::string_view::npos || text[next] == '"' || text[next] == '}';
  if (first != std::string_view::npos && text[first] == '{' && is_key) {
    if (is_inspector_log(text)) return measured_logs(scan_inspector_log(text, file), stated);
    if (is_timeline(text)) return measured_logs(scan_timeline(text, file), stated);
    if (is_flight_recording(text)) return measured_logs(scan_flight_recording(text, file), stated);
    return measured_logs(
        is_measurement(text) ? scan_measurement_json(text, file) : scan_nccl_tests_json(text, file),
        stated);
  }
  if (is_measured_csv(text)) return measured_logs(scan_measured_csv(text, file), stated);
  return logs_of_text(text, file, stated);
}

std::vector<MeasuredLog> read_measured_logs(const std::filesystem::path& path,
                                            std::optional<JobShape> stated) {
  return parse_measured_logs(read_file(path, kLargestLog), path.string(), stated);
}

bool is_of_nccl_tests(std::string_view text) {
  return text.find("\"results\"") != std::string_view::npos &&
         text.find("\"args\"") != std::string_view::npos;
}

std::vector<MeasuredLog> parse_timed_logs(std::string_view text, const std::string& file,
                                          std::optional<JobShape> stated,
                                          std::optional<Diagnostic>& no_log) {
  std::vector<MeasuredLog> logs;
  try {
    logs = parse_measured_logs(text, file, stated);
  } catch (const InputError& error) {
    // A result's JSON or a trainer's state is no record of all-reduces, but may be one of a
    // training.
    const bool is_json = trimmed(text).starts_with('{');
    // Its output may be part of a training's log.
    const auto other = other_measurement(text, file);
    const bool is_other = other && other->message == error.diagnostic().message;
    if (error.diagnostic().message != kNoRow && !is_json && !is_other) throw;
    if (stated)
      throw InputError({file, "", kNoRow,
                        "Leave out @NODESxGPUS if the file is something else; it is the shape of "
                        "such a log"});
    no_log = error.diagnostic();
  }
  // A training's log with NCCL's lines among its steps has no points.
  std::erase_if(logs, [](const MeasuredLog& log) { return log.points.empty(); });
  return logs;
}

std::string digest_of(std::span<const MeasuredPoint> points) {
  if (points.empty()) return "";
  Digest digest;
  for (const MeasuredPoint& point : points)
    digest.add(fmt::format("{} {}", point.size.count(), point.time_us));
  return digest.hex();
}

MeasuredLog only_log(std::vector<MeasuredLog> logs, const std::string& file) {
  if (logs.size() > 1 && logs[0].ranks == logs[1].ranks && logs[0].nodes == logs[1].nodes) {
    const auto named = [](const MeasuredLog& log) {
      const std::string settings = settings_text(log.settings);
      return settings.empty() ? std::string("without a setting of NCCL") : "under " + settings;
    };
    throw InputError({file, logs[1].points.front().place,
                      fmt::format("contains {} tables of {} ranks, one {}, one {}", logs.size(),
                                  logs[0].ranks, named(logs[0]), named(logs[1])),
                      "Give one file for each table"});
  }
  if (logs.size() > 1) {
    throw InputError({file, logs[1].points.front().place,
                      fmt::format("contains tables of {} job shapes, among them {} and {} ranks",
                                  logs.size(), logs[0].ranks, logs[1].ranks),
                      "Give one file per job shape"});
  }
  if (logs.front().points.empty()) {
    throw InputError({file, "", "has NCCL's debug lines, but no table of times",
                      "Give the output of all_reduce_perf"});
  }
  return std::move(logs.front());
}

MeasuredLog parse_nccl_tests_log(std::string_view text, const std::string& file,
                                 std::optional<JobShape> stated) {
  return only_log(parse_measured_logs(text, file, stated), file);
}

MeasuredLog read_nccl_tests_log(const std::filesystem::path& path, std::optional<JobShape> stated) {
  return parse_nccl_tests_log(read_file(path, kLargestLog), path.string(), stated);
}

}  // namespace ddpsim
