// Makes a workload from what was collected of a job (ddpsim.collect/1): the joined traces of its
// ranks, or without traces its DDP logging data.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/sim/values/versions.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "opened_file.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostNamedRanks = 8;  // ranks named one by one

using Members = std::vector<const ArchiveMember*>;

Imported import_member(const Archive& archive, const ArchiveMember& member,
                       const ImportOptions& options) {
  const std::string name = archive.name_of(member);
  return import_opened(open_bytes(member.bytes, name), name, options);
}

void require_one_of_each_rank(const Archive& archive, const Members& traces) {
  for (std::size_t k = 0; k < traces.size(); ++k) {
    const ArchiveMember& trace = *traces[k];
    if (traces.size() > 1 && !trace.rank)
      throw InputError({archive.name_of(trace), "",
                        "the archive has several traces, but its manifest does not say which rank "
                        "this one is from",
                        "Pack it again: run scripts/collect.sh on each rank"});
    if (k > 0 && trace.rank == traces[k - 1]->rank)
      throw InputError(
          {archive.name_of(trace), "",
           fmt::format("this trace is from rank {}, but so is {}: the two are from different runs",
                       *trace.rank, traces[k - 1]->path),
           "Pack the traces of one run"});
  }
}

Imported join_traces(const Archive& archive, const Members& traces, const ImportOptions& options) {
  if (options.timing == Timing::compacted)
    throw InputError(
        {archive.file, "",
         fmt::format("holds {} ranks, which are joined on the clock they recorded", traces.size()),
         "Leave out --timing compacted, or give the trace of one rank"});
  std::vector<RankImport> ranks;
  ImportOptions same_step = options;
  for (const ArchiveMember* trace : traces) {
    ranks.push_back({archive.name_of(*trace), import_member(archive, *trace, same_step)});
    auto& recorded = ranks.back().imported.rank_trace;
    if (recorded && !recorded->rank) recorded->rank = trace->rank;
    if (ranks.size() == 1) same_step = at_step_of(ranks.front().imported, options);
  }
  return join_ranks(std::move(ranks));
}

std::string ranks_without_trace(const Archive& archive, const Members& traces) {
  std::vector<int> missing;
  std::size_t next = 0;
  for (int rank = 0; rank < archive.ranks; ++rank) {
    if (next < traces.size() && traces[next]->rank == rank) {
      ++next;
    } else {
      missing.push_back(rank);
    }
  }
  const bool more = missing.size() > kMostNamedRanks;
  if (more) missing.resize(kMostNamedRanks);
  return fmt::format("{}{}", fmt::join(missing, ", "), more ? ", …" : "");
}

/// The name of the job: "march" for "runs/march.tar.gz" and for "runs/march/".
std::string name_of_job(const Archive& archive) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(archive.file, error);
  if (path.filename().empty()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.substr(0, name.find('.'));
}

/// Uses the versions that the job itself wrote down, unless the recording states them. The Python
/// that ran the collection may have other versions.
void take_versions(const Archive& archive, Workload& workload) {
  std::string torch;
  std::string nccl;
  bool of_job = false;
  const Members versions = archive.of(ArchiveKind::versions);
  if (versions.empty()) return;
  for (const std::string_view word : words_of(versions.front()->bytes)) {
    if (word.starts_with("torch=")) torch = word.substr(word.find('=') + 1);
    if (word.starts_with("nccl=")) nccl = word.substr(word.find('=') + 1);
    of_job = of_job || word == "seen_by=job";
  }
  if (!of_job) return;
  if (workload.torch.empty()) workload.torch = torch;
  if (!workload.recorded_with.nccl) workload.recorded_with.nccl = parse_nccl_version(nccl);
}

[[noreturn]] void refuse_without_recording(const Archive& archive) {
  const std::string why = archive.why_missing(ArchiveKind::trace);
  throw InputError({archive.file, "",
                    "holds neither a trace nor DDP logging data, so there is no workload in it" +
                        (why.empty() ? "" : ": " + why),
                    "Collect again with --trace FILES, or give the workload by itself"});
}

Imported imported_from(const Archive& archive, const ImportOptions& options) {
  const Members traces = archive.of(ArchiveKind::trace);
  require_one_of_each_rank(archive, traces);
  if (traces.size() > 1) return join_traces(archive, traces, options);
  if (!traces.empty()) return import_member(archive, *traces.front(), options);
  const Members logs = archive.of(ArchiveKind::ddp_log);
  if (logs.empty()) refuse_without_recording(archive);
  Imported imported = import_member(archive, *logs.front(), options);
  const std::string why = archive.why_missing(ArchiveKind::trace);
  imported.warnings.insert(
      imported.warnings.begin(),
      fmt::format("{} holds no trace{}: DDP logging data stand in, which have no time of single "
                  "gradients",
                  archive.file, why.empty() ? "" : " (" + why + ")"));
  return imported;
}

/// Takes the batch. The archive states the samples of a step, but recorded shapes show those of one
/// micro-batch.
void take_batch(const Archive& archive, Imported& imported) {
  if (!archive.batch_size) return;
  std::optional<std::int64_t>& batch = imported.workload.batch_per_gpu;
  const int passes = micro_batches(imported.workload);
  if (!batch) {
    batch = std::max(1, *archive.batch_size / passes);
  } else if (*batch * passes != *archive.batch_size) {
    imported.warnings.push_back(
        fmt::format("the archive states a batch of {} per GPU and step, but the recorded shapes "
                    "show {}. The shapes are used",
                    *archive.batch_size, *batch * passes));
  }
}

}  // namespace

Imported import_archive(const Archive& archive, const ImportOptions& options) {
  Imported imported = imported_from(archive, options);
  const std::filesystem::path stem = std::filesystem::path(imported.workload.name).stem();
  for (const ArchiveMember& member : archive.members)  // "rank0" is not a name for the job
    if (std::filesystem::path(member.path).stem().stem() == stem || stem == "<hidden>")
      imported.workload.name = name_of_job(archive);
  take_versions(archive, imported.workload);
  take_batch(archive, imported);
  const Members traces = archive.of(ArchiveKind::trace);
  imported.recognised.insert(
      imported.recognised.begin(),
      fmt::format("an archive of scripts/collect.sh: {} of {} rank{} on {} node{} left a trace",
                  traces.size(), archive.ranks, archive.ranks == 1 ? "" : "s", archive.nodes,
                  archive.nodes == 1 ? "" : "s"));
  std::vector<std::string> warnings = archive.warnings;
  if (!traces.empty() && traces.size() < static_cast<std::size_t>(archive.ranks))
    warnings.push_back(
        fmt::format("{} holds no trace of rank {}: who waited for whom cannot be told of {}",
                    archive.file, ranks_without_trace(archive, traces),
                    static_cast<std::size_t>(archive.ranks) - traces.size() == 1 ? "it" : "them"));
  imported.unprofiled_step = archive.step;
  imported.warnings.insert(imported.warnings.begin(), warnings.begin(), warnings.end());
  return imported;
}

}  // namespace ddpsim
