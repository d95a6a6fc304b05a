// What stands in a log, before anybody has asked whether it can be true. Readers of all formats fill
// it; `measured_logs` checks it once.
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
  std::string type;   ///< "float"; empty where the format has none
  std::string redop;  ///< "sum"; empty where the format has none
  std::optional<std::int64_t> root;
  std::optional<Figure> time_us;
  std::optional<Figure> algbw_gbps;
  std::optional<Figure> busbw_gbps;
  std::optional<Figure> in_place_us;
  std::optional<double> wrong;  ///< elements that came out wrong, out of place
  std::optional<double> wrong_in_place;
};

struct RawDevice {
  int rank = 0;
  std::string host;
  std::string gpu;
  std::optional<int> index = std::nullopt;  ///< of the device on its host, where the list says
};

/// One run: what its header says and the rows of its table.
struct RawRun {
  std::string place;
  std::string program;  ///< "all_reduce_perf" where the log names it
  std::vector<RawDevice> devices;
  std::optional<int> gpus_per_process;
  std::optional<JobShape> shape;  ///< stated by the format itself
  TimedBy timed_by = TimedBy::all_reduce_perf;
  std::vector<std::pair<std::string, std::string>> settings;  ///< of this run, beside those of all
  std::size_t first_decision =
      0;                    ///< in NcclWords::decisions; up to the next run's they are its own
  bool host_times = false;  ///< -C 1: what the host took, not the GPU
  std::vector<RawRow> rows;
  std::vector<std::vector<NotedTransfer>> steps;  ///< as MeasuredLog's
};

/// What NCCL's own debug lines say (NCCL_DEBUG=INFO).
struct NcclWords {
  std::size_t lines = 0;
  std::string network;         ///< "Using network AWS Libfabric"
  std::string channel_net;     ///< "NET/IB" of "via NET/IB/0/GDRDMA"
  bool gpudirect = false;      ///< … and its end
  bool peer_to_peer = false;   ///< "via P2P/IPC"
  bool shared_memory = false;  ///< "via SHM/direct"
  std::optional<int> ranks;
  std::optional<int> nodes;
  std::optional<int> channels;  ///< "16 coll channels"
  std::vector<NcclDecision> decisions;
};

struct RawLog {
  std::string file;
  std::string format;  ///< "nccl-tests text", for the line that says what was read
  std::vector<RawRun> runs;
  std::string backend;  ///< as MeasuredLog's
  std::optional<NcclVersion> nccl;
  bool rccl = false;
  NcclWords said;
  std::vector<std::pair<std::string, std::string>> settings;  ///< of all runs
  std::vector<std::string> recognised;
  std::vector<std::string> warnings;
};

/// Checks everything and pools the runs of one shape: one log per shape, in the order of the file.
std::vector<MeasuredLog> measured_logs(const RawLog& raw, std::optional<JobShape> stated);

}  // namespace ddpsim
