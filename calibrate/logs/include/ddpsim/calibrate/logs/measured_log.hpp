// Measurements of all-reduces in the formats that people have:
// - the text of all_reduce_perf (nccl-tests, rccl-tests), whatever else is between its lines, or
// its JSON (-J),
// - a CSV of sizes and times,
// - the output of ddpsim-real, including the timeline of a step,
// - records of NCCL's inspector or PyTorch's flight recorder.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/versions.hpp"

namespace ddpsim {

struct JobShape {
  int nodes = 1;
  int gpus_per_node = 1;
  constexpr int ranks() const { return nodes * gpus_per_node; }
  constexpr bool operator==(const JobShape&) const = default;
};

/// One row of an all_reduce_perf table.
struct MeasuredPoint {
  Bytes size;
  double time_us = 0;  ///< out of place
  /// Absent if the log has only out-of-place times.
  std::optional<double> in_place_us;
  std::string place;  ///< "line 12", for messages
  /// Wrong sums that nccl-tests found out of place.
  double wrong = 0;
  std::optional<double> wrong_in_place;  ///< absent if they were not checked
};

/// NCCL's own choice for all-reduces of a size, as it printed it (NCCL_DEBUG_SUBSYS=TUNING).
struct NcclDecision {
  Bytes size;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::optional<int> channels;
};

/// An all-reduce of a training: the arrival of its last rank, relative to any zero of the step, and
/// the time from then on.
struct NotedTransfer {
  Bytes size;
  double arrival_us = 0;
  double time_us = 0;
};

/// The content of a log for one shape.
struct MeasuredLog {
  std::string source;        ///< file, for messages and provenance
  std::optional<int> nodes;  ///< as read, or as stated by LOG@NxG
  std::optional<int> gpus_per_node;
  int ranks = 0;    ///< 0 if nothing in the log tells
  std::string gpu;  ///< device name as printed; empty if none
  /// "gloo" if the log says that it does not use NCCL.
  std::string backend;
  std::optional<NcclVersion> nccl;
  std::vector<std::pair<std::string, std::string>> settings;  ///< NCCL_* printed in the log
  /// "NET/IB", "NET/Socket", "NET/OFI", "P2P" …, if a debug line tells.
  std::string transport;
  std::vector<NcclDecision> decisions;  ///< by size, each size once
  /// Channels of rings and trees, if a debug line tells.
  std::optional<int> channels;
  /// By size; rows of one size in the order of the log.
  std::vector<MeasuredPoint> points;
  /// For a training over gloo: the all-reduces of each step. Several may be in flight at once.
  std::vector<std::vector<NotedTransfer>> steps;
  /// For one rank or a few ranks, times include the wait for the others, so each is an upper bound.
  TimedBy timed_by = TimedBy::all_reduce_perf;
  std::vector<std::string> recognised;  ///< what was read; one sentence each
  std::vector<std::string> warnings;

  std::optional<JobShape> shape() const {
    if (!nodes || !gpus_per_node) return std::nullopt;
    return JobShape{*nodes, *gpus_per_node};
  }
};

/// Digest of sizes and times. The same measurement has the same digest whatever its file is called.
/// Empty without times.
std::string digest_of(std::span<const MeasuredPoint> points);

/// Settings that may change the time of an all-reduce, "NCCL_ALGO=Tree, NCCL_PROTO=Simple". Empty
/// if none is known.
std::string settings_text(const std::vector<std::pair<std::string, std::string>>& settings);

/// For a measurement of another program, or a table with an unknown header: what it is, and what
/// would be right. Absent for other texts.
std::optional<Diagnostic> other_measurement(std::string_view text, const std::string& file);

/// End of the warning for a log over another library.
inline constexpr const char* kNothingOfNccl = "it tells nothing about NCCL";

/// Message of the InputError for a text that is not a log.
inline constexpr const char* kNoRow = "no row of an all_reduce_perf table was found";

/// The warning for a log whose number of nodes is unknown. Callers that need no nodes remove it.
std::string nodes_unknown(int ranks);

/// Returns one log per shape, in the order of the file; the content tells the format. A text with
/// only NCCL's debug lines is one log without points. Throws InputError with file, line and remedy
/// if there is no table of an all-reduce. It also throws for an impossible value, and for a stated
/// shape that contradicts the log.
std::vector<MeasuredLog> parse_measured_logs(std::string_view text, const std::string& file,
                                             std::optional<JobShape> stated = std::nullopt);
std::vector<MeasuredLog> read_measured_logs(const std::filesystem::path& path,
                                            std::optional<JobShape> stated = std::nullopt);

/// Reads the logs with times from a text that may be a training's log. Empty if the text times no
/// all-reduce; `no_log` then says why, unless the text is a valid log without times. Throws
/// InputError for a broken log.
std::vector<MeasuredLog> parse_timed_logs(std::string_view text, const std::string& file,
                                          std::optional<JobShape> stated,
                                          std::optional<Diagnostic>& no_log);
/// Whether the text is nccl-tests' JSON, which has sizes in "results" and its command in "args".
bool is_of_nccl_tests(std::string_view text);

/// Reads a log in which exactly one job shape has times. Throws InputError if several have or none
/// has.
MeasuredLog only_log(std::vector<MeasuredLog> logs, const std::string& file);
MeasuredLog parse_nccl_tests_log(std::string_view text, const std::string& file,
                                 std::optional<JobShape> stated = std::nullopt);
MeasuredLog read_nccl_tests_log(const std::filesystem::path& path,
                                std::optional<JobShape> stated = std::nullopt);

/// LOG, LOG@NODESxGPUS or LOG@NODESxGPUS,NCCL_ALGO=Ring,NCCL_VERSION=2.10.3 as typed: the part
/// after @ states what the log does not print. A file whose name ends this way is used as it is.
struct LogArgument {
  std::filesystem::path path;
  std::optional<JobShape> stated;
  std::vector<std::pair<std::string, std::string>> settings;
};
/// Throws InputError.
LogArgument parse_log_argument(std::string_view text);
/// Adds stated settings to the printed ones. Throws InputError if they contradict each other.
void state_settings(const LogArgument& argument, MeasuredLog& log);

}  // namespace ddpsim
