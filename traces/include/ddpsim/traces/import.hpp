// Anything recorded -> workload. The format is recognised by content, never by extension.
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

/// What times of a profiler trace mean: as recorded, or without the gaps in which the GPU waited for
/// the host (the rule stands in traces/src/busy_time.hpp).
enum class Timing { recorded, compacted };

struct ImportOptions {
  std::optional<std::int64_t>
      iteration;  ///< complete iterations counted from 0; default: lower median by backward window
  std::string model;  ///< parameter list for traces without shapes; empty: find the one that fits
  std::string gpu;    ///< when the source does not say
  std::string step;   ///< marker of the step to take, "ProfilerStep#10"; empty: as `iteration` says
  Timing timing = Timing::recorded;  ///< compacted: profiler traces only
  bool kernel_times = false;         ///< add up a profiler trace's kernels by kind, too
  Progress* progress = nullptr;      ///< told of each file's MiB; it cannot stop them
};

/// What DDP noted of its own buckets.
struct DdpLog {
  DdpOptions options;                     ///< as far as the log tells them: never the version
  std::vector<Bytes> construction_bytes;  ///< in launch order
  std::vector<Bytes> rebuilt_bytes;       ///< empty: not rebuilt
};

/// A collective as all ranks given recorded it, whoever calls it.
struct JoinedCollective {
  std::string operation;         ///< "allreduce", "alltoall", …
  std::optional<Bytes> bytes;    ///< absent where not recorded
  std::vector<int> ranks;        ///< ascending
  std::vector<Duration> starts;  ///< by rank, on one clock
  std::vector<Duration>
      durations;  ///< by rank: the transfer is the shortest, the rest of each its wait
};

struct Imported {
  Workload workload;
  std::vector<std::string> recognised;  ///< one sentence each, for the user
  std::vector<std::string> warnings;    ///< what was not, and what that means
  std::string
      alone;  ///< what to know of it as long as no other rank of its job is there; may be empty
  std::vector<Bytes> bucket_bytes;      ///< gradients per recorded all-reduce call, in launch order
  std::optional<RankTrace> rank_trace;  ///< of a profiler trace
  std::optional<DdpLog> ddp_log;        ///< of DDP logging data
  std::optional<KernelTimes>
      kernel_times;  ///< of a profiler trace that ran kernels, of several ranks' the lowest's
  std::vector<JoinedCollective>
      joined;  ///< of several ranks' step, in the first rank's order of launch
  std::optional<Duration> unprofiled_step =
      {};  ///< of an archive, where its step was timed beside the trace
};

/// Reads a workload file, a profiler trace (.json or gzip), a folder with the traces of one job, or a
/// layer table. Throws InputError.
Imported import_file(const std::filesystem::path& path, const ImportOptions& options);
/// The traces in what was collected of a job, joined, or if it has none its DDP logging data. Throws InputError.
Imported import_archive(const Archive& archive, const ImportOptions& options);
/// Whether a file, or some file of a folder's, looks by its beginning like one of them. Throws nothing.
bool is_recording(const std::filesystem::path& path);

/// The bundled workload of that name (`list` shows them); absent when there is none.
std::optional<Workload> bundled_workload(std::string_view name);

struct BundledWorkload {
  std::string name;
  std::string summary;  ///< one line: what, where from
};
std::vector<BundledWorkload> bundled_workloads();

}  // namespace ddpsim
