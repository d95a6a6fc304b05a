// Converts any recording to a workload. The format is recognised by content, never by file
// extension.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/archive.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/progress.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "ddpsim/traces/kernel_kinds.hpp"
#include "ddpsim/traces/rank_trace.hpp"

namespace ddpsim {

/// How to read times of a profiler trace: as recorded, or without the gaps in which the GPU waited
/// for the host. traces/src/busy_time.hpp explains the rule.
enum class Timing { recorded, compacted };

struct ImportOptions {
  /// Complete iterations are counted from 0. Default: the iteration with the lower median of the
  /// backward windows.
  std::optional<std::int64_t> iteration;
  /// Parameter list for traces without shapes; empty: find the one that fits.
  std::string model;
  std::string gpu;  ///< used if the source does not name one
  /// Name of the step's marker, "ProfilerStep#10"; empty: chosen by `iteration`.
  std::string step;
  Timing timing = Timing::recorded;  ///< compacted: profiler traces only
  /// Also add up a profiler trace's kernels by kind.
  bool kernel_times = false;
  /// Is told how many MiB of each file were read. It cannot cancel the import.
  Progress* progress = nullptr;
};

/// What DDP logged about its buckets.
struct DdpLog {
  /// Options that the log states. The PyTorch version is not among them.
  DdpOptions options;
  std::vector<Bytes> construction_bytes;  ///< in launch order
  std::vector<Bytes> rebuilt_bytes;       ///< empty: not rebuilt
};

/// A collective that all given ranks recorded, whoever launched it.
struct JoinedCollective {
  std::string operation;         ///< "allreduce", "alltoall", …
  std::optional<Bytes> bytes;    ///< absent where not recorded
  std::vector<int> ranks;        ///< ascending
  std::vector<Duration> starts;  ///< by rank, on a common clock
  /// By rank. The shortest duration is the transfer; anything beyond it is that rank's wait.
  std::vector<Duration> durations;
};

struct Imported {
  Workload workload;
  std::vector<std::string> recognised;  ///< one sentence each, for the user
  /// What was not recognised, and the consequences.
  std::vector<std::string> warnings;
  /// Remark that applies until another rank of the job is added; may be empty.
  std::string alone;
  /// Gradients per recorded all-reduce, in launch order.
  std::vector<Bytes> bucket_bytes;
  std::optional<RankTrace> rank_trace;  ///< only from a profiler trace
  std::optional<DdpLog> ddp_log;        ///< only from DDP logging data
  /// Kernels of a profiler trace; of the lowest rank if there are several.
  std::optional<KernelTimes> kernel_times;
  /// From a step recorded by several ranks, in the first rank's launch order.
  std::vector<JoinedCollective> joined;
  /// From an archive whose step was also timed without the profiler.
  std::optional<Duration> unprofiled_step = {};
};

/// Imports a workload file, a profiler trace (.json or gzip), a folder with the traces of one job,
/// or a layer table. Throws InputError.
Imported import_file(const std::filesystem::path& path, const ImportOptions& options);
/// Imports the traces of an archive, joined. Without traces, imports its DDP logging data. Throws
/// InputError.
Imported import_archive(const Archive& archive, const ImportOptions& options);
/// Whether a file, or any file in a folder, begins like a recording. Throws nothing.
bool is_recording(const std::filesystem::path& path);

/// The bundled workload with this name (`list` shows the names); absent if there is none.
std::optional<Workload> bundled_workload(std::string_view name);

struct BundledWorkload {
  std::string name;
  std::string summary;  ///< one line: content and source
};
std::vector<BundledWorkload> bundled_workloads();

}  // namespace ddpsim
