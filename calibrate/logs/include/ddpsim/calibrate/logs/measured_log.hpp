// What people measured of all-reduces: the text of all_reduce_perf (nccl-tests, rccl-tests),
// whatever else stands between its lines, its JSON (-J), a CSV of sizes and times, what ddpsim-real
// wrote (also a step's timeline), or what NCCL's inspector and PyTorch's flight recorder noted of a
// job.
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
  double time_us = 0;                 ///< out of place
  std::optional<double> in_place_us;  ///< absent where the log has out of place alone
  std::string place;                  ///< "line 12", for messages
  double wrong = 0;  ///< sums that nccl-tests checked and found wrong, out of place
  std::optional<double> wrong_in_place;  ///< absent where they were not checked
};

/// What NCCL itself said it chose for all-reduces of a size (NCCL_DEBUG_SUBSYS=TUNING).
struct NcclDecision {
  Bytes size;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::optional<int> channels;
};

/// An all-reduce of a training: its last rank's arrival, from any zero of its step, and the time from then on.
struct NotedTransfer {
  Bytes size;
  double arrival_us = 0;
  double time_us = 0;
};

/// What a log says of one shape.
struct MeasuredLog {
  std::string source;        ///< file, for messages and provenance
  std::optional<int> nodes;  ///< as read or as stated by LOG@NxG
  std::optional<int> gpus_per_node;
  int ranks = 0;        ///< 0 where nothing in the log tells
  std::string gpu;      ///< device name as printed; empty where none
  std::string backend;  ///< "gloo" where the log says that it is not NCCL's
  std::optional<NcclVersion> nccl;
  std::vector<std::pair<std::string, std::string>> settings;  ///< NCCL_* printed in the log
  std::string transport;  ///< "NET/IB", "NET/Socket", "NET/OFI", "P2P" … where a debug line says
  std::vector<NcclDecision> decisions;  ///< by size, each size once
  std::optional<int> channels;          ///< of rings and trees, where a debug line says
  std::vector<MeasuredPoint> points;    ///< by size; rows of one size in the order of the log
  /// Of a training over gloo: each step's all-reduces, of which several may be in flight.
  std::vector<std::vector<NotedTransfer>> steps;
  /// Of one rank, or of a few: times hold the wait for the others, so each is an upper bound.
  TimedBy timed_by = TimedBy::all_reduce_perf;
  std::vector<std::string> recognised;  ///< what was read, a sentence each
  std::vector<std::string> warnings;

  std::optional<JobShape> shape() const {
    if (!nodes || !gpus_per_node) return std::nullopt;
    return JobShape{*nodes, *gpus_per_node};
  }
};

/// Digest of sizes and times: the same measurement has the same, whatever its file is called. Empty without a time.
std::string digest_of(std::span<const MeasuredPoint> points);

/// Those that may change how long an all-reduce takes, "NCCL_ALGO=Tree, NCCL_PROTO=Simple"; empty where none is known.
std::string settings_text(const std::vector<std::pair<std::string, std::string>>& settings);

/// What another program measured, or a table whose header nobody here knows: what it is, and what would be right. Absent of
/// other texts.
std::optional<Diagnostic> other_measurement(std::string_view text, const std::string& file);

/// End of the warning of a log over another library.
inline constexpr const char* kNothingOfNccl = "it says nothing of NCCL";

/// Message of the InputError for a text that is no log at all.
inline constexpr const char* kNoRow = "no row of an all_reduce_perf table was found";

/// The warning of a log whose nodes cannot be told; who needs no nodes takes it out.
std::string nodes_unknown(int ranks);

/// One log per shape, in the order of the file. Throws InputError naming file, line and remedy: no
/// table of an all-reduce, a value that cannot be, a stated shape that contradicts the log. The
/// format is told by the content. A text with NCCL's debug lines alone is one log without points.
std::vector<MeasuredLog> parse_measured_logs(std::string_view text, const std::string& file,
                                             std::optional<JobShape> stated = std::nullopt);
std::vector<MeasuredLog> read_measured_logs(const std::filesystem::path& path,
                                            std::optional<JobShape> stated = std::nullopt);

/// The same of a text that may be a training's log: those with times. None: no all-reduce is timed in it, and `no_log`
/// says why where it is no log of them either. Throws InputError for a log that is broken.
std::vector<MeasuredLog> parse_timed_logs(std::string_view text, const std::string& file,
                                          std::optional<JobShape> stated,
                                          std::optional<Diagnostic>& no_log);
/// nccl-tests' JSON has "results" of sizes, and what it runs in "args".
bool is_of_nccl_tests(std::string_view text);

/// The same where one shape and its times are wanted: several, or none, are an InputError.
MeasuredLog only_log(std::vector<MeasuredLog> logs, const std::string& file);
MeasuredLog parse_nccl_tests_log(std::string_view text, const std::string& file,
                                 std::optional<JobShape> stated = std::nullopt);
MeasuredLog read_nccl_tests_log(const std::filesystem::path& path,
                                std::optional<JobShape> stated = std::nullopt);

/// LOG, LOG@NODESxGPUS or LOG@NODESxGPUS,NCCL_ALGO=Ring,NCCL_VERSION=2.10.3 as typed: what the log
/// does not print. A file whose very name ends so is taken as it is.
struct LogArgument {
  std::filesystem::path path;
  std::optional<JobShape> stated;
  std::vector<std::pair<std::string, std::string>> settings;
};
/// Throws InputError.
LogArgument parse_log_argument(std::string_view text);
/// Adds the settings stated to those printed. Throws InputError where the two contradict each other.
void state_settings(const LogArgument& argument, MeasuredLog& log);

}  // namespace ddpsim
