// What scripts/collect.sh packs of a job: one archive (ddpsim.collect/1, docs/reference/formats.md), or the folder it unpacks to.
//
// Whoever reads a kind of evidence takes its members as they are, text or bytes: nothing is decoded here but the
// manifest. An archive comes from strangers: no member is written anywhere, links and paths outside are refused, and
// so is what would unpack to more than any job leaves behind.
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

/// What the manifest may hold.
const ObjectType& collect_document();

enum class ArchiveKind {
  trace,        ///< of one rank: torch.profiler's, or what the recorder wrote; may be gzip
  ddp_log,      ///< DDP logging data of one rank, JSON
  nccl_log,     ///< what NCCL_DEBUG=INFO printed, of one rank or of all
  environment,  ///< NAME=value lines, variables that change speed alone; of one rank
  versions,  ///< NAME=value lines: torch, nccl, cuda, driver, python, kernel, ddpsim; of one rank
  pinning,   ///< NAME=value lines: cores of the node, Cpus_allowed_list, NUMA nodes; of one rank
  gpus,      ///< `nvidia-smi --query-gpu=… --format=csv` of one node: PCIe, clocks, power
  devices,   ///< "path: value" lines of sysfs, of one node: PCIe links, InfiniBand rates, MTU
  lspci,     ///< `lspci -vv` of one node, network and GPUs
  topology,  ///< NCCL_TOPO_DUMP_FILE of one node, XML
  matrix,    ///< `nvidia-smi topo -m` of one node
  all_reduce_log,  ///< of all_reduce_perf
  step_times,      ///< without the profiler, as `--measured-step FILE` reads them
  measurement,     ///< what ddpsim-real measured (scripts/validate.sh)
  note,            ///< for people
};

/// As the manifest writes it: the enumerator's own spelling.
std::string_view name_of(ArchiveKind kind);

struct ArchiveMember {
  ArchiveKind kind = ArchiveKind::note;
  std::string path;         ///< below the archive's folder: "traces/rank0.json.gz"
  std::optional<int> rank;  ///< of one rank alone
  std::optional<int> node;  ///< of one node alone, or the rank's
  std::string bytes;        ///< as packed
  std::string key;          ///< of step times: KEY or KEY=UNIT, as stated
};

/// What was looked for and not found.
struct ArchiveGap {
  ArchiveKind kind = ArchiveKind::note;
  std::optional<int> rank;
  std::optional<int> node;
  std::string why;  ///< "all_reduce_perf is not on PATH"
};

struct Archive {
  std::string file;  ///< as the user gave it
  int ranks = 1;     ///< of the job, whether or not each left something
  int nodes = 1;
  std::optional<Duration> step;        ///< of today's job without the profiler
  std::optional<int> batch_size;       ///< samples per GPU and step
  std::vector<ArchiveMember> members;  ///< as listed, ranks in order within a kind
  std::vector<ArchiveGap> missing;
  std::vector<std::string> warnings;  ///< what of it is not as the manifest says

  /// Those of one kind, by rank, then node.
  std::vector<const ArchiveMember*> of(ArchiveKind kind) const;
  /// How messages name a member: "job.tar.gz:traces/rank0.json.gz".
  std::string name_of(const ArchiveMember& member) const;
  /// "all_reduce_perf is not on PATH"; empty where the manifest does not say.
  std::string why_missing(ArchiveKind kind) const;
};

/// Whether a file is a tar (compressed with gzip or not), or a folder a manifest lies in: what `read_archive` is for.
/// Throws nothing.
bool is_archive(const std::filesystem::path& path);

/// Throws InputError: no manifest, another version of it, links, paths outside, more members or bytes than allowed,
/// an archive that was cut. Members listed and not there are warnings.
Archive read_archive(const std::filesystem::path& path);

/// The same of a tar's bytes; `file` names it.
Archive parse_archive(std::span<const unsigned char> bytes, std::string file);

}  // namespace ddpsim
