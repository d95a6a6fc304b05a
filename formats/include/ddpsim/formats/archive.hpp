// Reads what scripts/collect.sh packs for a job: one archive (ddpsim.collect/1, docs/reference/formats.md),
// or the folder it unpacks to.
//
// Only the manifest is decoded here; each reader of a kind of evidence receives its members as text
// or bytes. An archive may come from strangers. So no member is written to disk, links and outside
// paths are refused, and so is an archive that unpacks to more than any job leaves behind.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

struct ObjectType;

/// Describes the JSON document of the manifest.
const ObjectType& collect_document();

enum class ArchiveKind {
  /// torch.profiler's trace of one rank, or what the recorder wrote; may be gzip.
  trace,
  ddp_log,   ///< DDP logging data of one rank, JSON
  nccl_log,  ///< output of NCCL_DEBUG=INFO, one rank or all
  /// NAME=value lines of one rank: only variables that change speed.
  environment,
  /// NAME=value lines of one rank: torch, nccl, cuda, driver, python, kernel, ddpsim.
  versions,
  /// NAME=value lines of one rank: cores of the node, Cpus_allowed_list, NUMA nodes.
  pinning,
  /// `nvidia-smi --query-gpu=… --format=csv` of one node: PCIe, clocks, power.
  gpus,
  /// "path: value" lines of sysfs on one node: PCIe links, InfiniBand rates, MTU.
  devices,
  lspci,           ///< `lspci -vv` of one node, network and GPUs
  topology,        ///< NCCL_TOPO_DUMP_FILE of one node, XML
  matrix,          ///< `nvidia-smi topo -m` of one node
  all_reduce_log,  ///< output of all_reduce_perf
  /// Measured without the profiler, in the form that `--measured-step FILE` reads.
  step_times,
  measurement,  ///< what ddpsim-real measured (scripts/validate.sh)
  note,         ///< for people
};

/// The word in the manifest, which is the enumerator's spelling.
std::string_view name_of(ArchiveKind kind);

struct ArchiveMember {
  ArchiveKind kind = ArchiveKind::note;
  /// Path below the archive's folder: "traces/rank0.json.gz".
  std::string path;
  std::optional<int> rank;  ///< if the member is from one rank only
  /// Node of the member or of its rank, if it is from one node only.
  std::optional<int> node;
  std::string bytes;  ///< as packed
  /// For step times: KEY or KEY=UNIT, as stated.
  std::string key;
};

/// Evidence that was looked for and not found.
struct ArchiveGap {
  ArchiveKind kind = ArchiveKind::note;
  std::optional<int> rank;
  std::optional<int> node;
  std::string why;  ///< "all_reduce_perf is not on PATH"
};

struct Archive {
  std::string file;  ///< as the user gave it
  /// World size of the job, even if some ranks left nothing.
  int ranks = 1;
  int nodes = 1;
  /// Step time of the current job without the profiler.
  std::optional<Duration> step;
  std::optional<int> batch_size;  ///< samples per GPU and step
  /// In the order of the manifest. Within a kind, sorted by rank.
  std::vector<ArchiveMember> members;
  std::vector<ArchiveGap> missing;
  std::vector<std::string> warnings;  ///< differences from the manifest

  /// Members of one kind, sorted by rank, then by node.
  std::vector<const ArchiveMember*> of(ArchiveKind kind) const;
  /// Name of a member in messages: "job.tar.gz:traces/rank0.json.gz".
  std::string name_of(const ArchiveMember& member) const;
  /// The manifest's reason, such as "all_reduce_perf is not on PATH"; empty if it gives none.
  std::string why_missing(ArchiveKind kind) const;
};

/// Whether `read_archive` can read a path: a tar file (with or without gzip), or a folder with a
/// manifest. Throws nothing.
bool is_archive(const std::filesystem::path& path);

/// Reads an archive. A member that is listed but not there is only a warning. Throws InputError for
/// a missing manifest or one of another version, for links and outside paths, for more members or
/// bytes than allowed, and for a truncated archive.
Archive read_archive(const std::filesystem::path& path);

/// Reads the bytes of a tar file; `file` is its name in messages.
Archive parse_archive(std::span<const unsigned char> bytes, std::string file);

}  // namespace ddpsim
