// The content of a log before it is checked. Readers of all formats fill it in; `measured_logs`
// checks it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/log_words.hpp"

namespace ddpsim {

struct RawRow {
  std::string place;  ///< "line 12", "/results/3"
  std::int64_t size = 0;
  std::string type;   ///< "float"; empty if the format has none
  std::string redop;  ///< "sum"; empty if the format has none
  std::optional<std::int64_t> root;
  std::optional<Figure> time_us;
  std::optional<Figure> algbw_gbps;
  std::optional<Figure> busbw_gbps;
  std::optional<Figure> in_place_us;
  std::optional<double> wrong;  ///< number of wrong elements, out of place
  std::optional<double> wrong_in_place;
};

struct RawDevice {
  int rank = 0;
  std::string host;
  std::string gpu;
  /// Index of the device on its host, if the list states it.
  std::optional<int> index = std::nullopt;
};

/// One run: its header and the rows of its table.
struct RawRun {
  std::string place;
  std::string program;  ///< "all_reduce_perf" if the log names it
  std::vector<RawDevice> devices;
  std::optional<int> gpus_per_process;
  std::optional<JobShape> shape;  ///< stated by the format itself
  TimedBy timed_by = TimedBy::all_reduce_perf;
  /// Settings of this run, in addition to those of all runs.
  std::vector<std::pair<std::string, std::string>> settings;
  /// Index into NcclWords::decisions. Decisions up to the next run's index belong to this run.
  std::size_t first_decision = 0;
  /// -C 1: times of the host, not the GPU.
  bool host_times = false;
  std::vector<RawRow> rows;
  std::vector<std::vector<NotedTransfer>> steps;  ///< as in MeasuredLog
};

/// Content of NCCL's debug lines (NCCL_DEBUG=INFO).
struct NcclWords {
  std::size_t lines = 0;
  std::string network;         ///< "Using network AWS Libfabric"
  std::string channel_net;     ///< "NET/IB" of "via NET/IB/0/GDRDMA"
  bool gpudirect = false;      ///< whether that path ends in "GDRDMA"
  bool peer_to_peer = false;   ///< "via P2P/IPC"
  bool shared_memory = false;  ///< "via SHM/direct"
  std::optional<int> ranks;
  std::optional<int> nodes;
  std::optional<int> channels;  ///< "16 coll channels"
  std::vector<NcclDecision> decisions;
};

struct RawLog {
  std::string file;
  /// "nccl-tests text", for the line that says what was read.
  std::string format;
  std::vector<RawRun> runs;
  std::string backend;  ///< as in MeasuredLog
  std::optional<NcclVersion> nccl;
  bool rccl = false;
  NcclWords said;
  std::vector<std::pair<std::string, std::string>> settings;  ///< common to all runs
  std::vector<std::string> recognised;
  std::vector<std::string> warnings;
};

/// Checks everything and merges runs of one shape. Returns one log per shape, in the order of the
/// file.
std::vector<MeasuredLog> measured_logs(const RawLog& raw, std::optional<JobShape> stated);

}  // namespace ddpsim
