#include "trace_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ddpsim/formats/byte_sources.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "opened_file.hpp"
#include "rank_checks.hpp"
#include "trace_header.hpp"
#include "trace_names.hpp"

namespace ddpsim {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 3;
constexpr std::size_t kMostFiles = 2 * kMostRecordedRanks;
constexpr std::size_t kMostNamed = 8;  ///< files and jobs named one by one

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kPacked = ".gz";
constexpr std::string_view kTraceName = ".pt.trace.json";  ///< from tensorboard_trace_handler

/// Position of the rank's number in a name: "rank3", "rank_3", "Rank-3".
struct RankInName {
  std::size_t at = 0;
  std::size_t length = 0;
  std::int64_t rank = 0;
};

std::optional<RankInName> rank_in(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (std::size_t word = lower.rfind("rank"); word != std::string::npos && word < lower.size();
       word = word == 0 ? std::string::npos : lower.rfind("rank", word - 1)) {
    const std::size_t at = lower.find_first_not_of("-_=.", word + 4);
    if (at == std::string::npos) continue;
    const std::size_t end = std::min(lower.find_first_not_of(kDigits, at), lower.size());
    if (const auto rank = parse_number<std::int64_t>(name.substr(at, end - at)))
      return RankInName{at, end - at, *rank};
  }
  return std::nullopt;
}

struct Found {
  fs::path path;
  std::string process;  ///< name below the folder, without the time
  std::string time;     ///< time in tensorboard_trace_handler's names; else empty
  /// `process` without the rank. Hosts and process ids differ within a job.
  std::string job;
  std::optional<std::int64_t> rank;
  std::optional<int> world_size;
};

/// Splits "below/host_12.1712195495505.pt.trace.json.gz" into the process "below/host_12", its time
/// and the job "below/". `found.rank` is the trace's own rank, or absent.
void read_name(std::string name, Found& found) {
  if (name.ends_with(kPacked)) name.resize(name.size() - kPacked.size());
  const std::size_t folder = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  const std::size_t suffix = name.find(kTraceName, folder);
  if (suffix != std::string::npos) {
    name.resize(suffix);
    const std::size_t dot = name.rfind('.');
    const bool timed = dot != std::string::npos && dot >= folder && dot + 1 < name.size() &&
                       name.find_first_not_of(kDigits, dot + 1) == std::string::npos;
    if (timed) {
      found.time = name.substr(dot + 1);
      name.resize(dot);
    }
  }
  const auto numbered = rank_in(name);
  if (numbered)
    found.job = name.substr(0, numbered->at) + "*" + name.substr(numbered->at + numbered->length);
  else
    found.job = suffix != std::string::npos || found.rank ? name.substr(0, folder) : name;
  if (numbered && !found.rank) found.rank = numbered->rank;
  found.process = std::move(name);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMostNamed ? text + ", …" : text;
}

/// A bare list is a trace only if it holds events, because other tools write lists too.
bool is_trace(const OpenedFile& opened) {
  if (!is_profile(opened.recognised)) return false;
  const std::size_t first = opened.head.find_first_not_of(" \t\r\n");
  return opened.head[first] != '[' || opened.head.find("\"ph\"") != std::string::npos;
}

/// Whether the file holds any name that every profile of PyTorch has. Chrome's format has many
/// writers.
bool is_of_pytorch(const ByteSource& source) {
  constexpr std::array<std::string_view, 11> kMarks = {
      "\"schemaVersion\"", "\"deviceProperties\"", "\"cpu_op\"",   "\"Operator\"",
      "\"kernel\"",        "\"Kernel\"",           "aten::",       "\"cuda_runtime\"",
      "\"hip_runtime\"",   "\"user_annotation\"",  "ProfilerStep#"};
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  constexpr std::size_t kOverlap = 32;  // longer than any mark
  std::string text;
  for (;;) {
    const std::string block = read_up_to(source, kBlock);
    text.erase(0, text.size() - std::min(text.size(), kOverlap));
    text += block;
    if (std::ranges::any_of(kMarks, [&](std::string_view mark) { return contains(text, mark); }))
      return true;
    if (block.size() < kBlock) return false;
  }
}

class FolderImport {
 public:
  FolderImport(fs::path folder, const ImportOptions& options)
      : folder_(std::move(folder)), options_(options) {}

  Imported run();
  /// Whether any file is a trace, or was one before it was damaged.
  bool holds_trace() const;

 private:
  [[noreturn]] void refuse(std::string message, Hint hint) const {
    throw InputError({folder_.string(), "", std::move(message), std::move(hint)});
  }
  std::string below(const fs::path& path) const {
    return path.lexically_relative(folder_).string();
  }
  std::vector<fs::path> files() const;
  void find_traces();
  void require_one_job() const;
  void keep_last_cycle();
  void require_one_each();
  void describe(Imported& imported) const;

  const fs::path folder_;
  const ImportOptions& options_;
  std::vector<Found> traces_;
  std::vector<std::string> others_;
  std::vector<std::string> foreign_;  ///< traces of other programs
  std::size_t cycles_ = 1;
};

Imported FolderImport::run() {
  find_traces();
  require_one_job();
  keep_last_cycle();
  require_one_each();
  Imported imported;
  if (traces_.size() == 1) {
    imported = import_file(traces_.front().path, options_);
  } else {
    if (options_.timing == Timing::compacted)
      refuse(fmt::format("holds {} ranks, which are joined on the clock they recorded",
                         traces_.size()),
             "Leave out --timing compacted, or give the trace of one rank");
    std::vector<fs::path> paths;
    for (const Found& one : traces_) paths.push_back(one.path);
    std::vector<RankImport> ranks = import_each(paths, options_);
    for (std::size_t k = 0; k < ranks.size(); ++k)
      if (auto& trace = ranks[k].imported.rank_trace; trace && !trace->rank)
        trace->rank = traces_[k].rank;
    imported = join_ranks(std::move(ranks));
    // Hosts and process ids do not name the job.
    std::error_code none;
    if (traces_.front().job.find('*') == std::string::npos)
      imported.workload.name = fs::weakly_canonical(folder_, none).filename().string();
  }
  describe(imported);
  return imported;
}

std::vector<fs::path> FolderImport::files() const {
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder_, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const bool hidden = entry->path().filename().string().starts_with('.');
    std::error_code unknown;
    if (entry->is_directory(unknown) && (hidden || entry.depth() + 1 > kDeepest))
      entry.disable_recursion_pending();
    if (hidden || !entry->is_regular_file(unknown)) continue;
    found.push_back(entry->path());
    if (found.size() > kMostFiles)
      refuse(fmt::format("holds more than {} files", kMostFiles), "Give the traces themselves");
  }
  if (error) refuse("cannot be read: " + error.message(), "");
  std::ranges::sort(found);
  return found;
}

bool FolderImport::holds_trace() const {
  return std::ranges::any_of(files(), [&](const fs::path& path) {
    if (path.filename().string().find(kTraceName) != std::string::npos) return true;
    const OpenedFile opened = glance_at(path);
    if (!is_trace(opened)) return false;
    try {
      return opened.recognised.kind != Recognition::Kind::profiler_trace ||
             is_of_pytorch(opened.source);
    } catch (const InputError&) {
      return true;
    }
  });
}

void FolderImport::find_traces() {
  const std::vector<fs::path> all = files();
  for (const fs::path& path : all) {
    // If an unpacked copy of the trace is there, the packed one is skipped.
    if (path.extension() == kPacked &&
        std::ranges::binary_search(all, fs::path(path).replace_extension())) {
      others_.push_back(below(path));
      continue;
    }
    const OpenedFile opened = glance_at(path);
    const std::string name = below(path);
    const bool trace = is_trace(opened);
    const bool foreign = trace && opened.recognised.kind == Recognition::Kind::profiler_trace &&
                         !is_of_pytorch(opened.source);
    if (!trace || foreign) {
      // A rank whose file was cut to nothing must be reported.
      if (name.find(kTraceName) != std::string::npos)
        throw InputError(
            {path.string(), "",
             foreign ? "it holds no event of a PyTorch profiler"
                     : "looks like " + opened.recognised.looks_like,
             "It has the name of a trace: record it again, or remove it from the folder"});
      (foreign ? foreign_ : others_).push_back(name);
      continue;
    }
    const TraceHeader header = job_in_head(opened.head);
    Found found{.path = path,
                .process = {},
                .time = {},
                .job = {},
                .rank = header.rank,
                .world_size = header.world_size};
    read_name(name, found);
    traces_.push_back(std::move(found));
  }
  if (!traces_.empty()) return;
  others_.insert(others_.end(), foreign_.begin(), foreign_.end());
  refuse(
      others_.empty()
          ? "is a folder without a file"
          : fmt::format("is a folder without a profiler trace or nsys export; it holds {}",
                        listed(others_)),
      others_.size() == 1
          ? "Give the file itself"
          : "Expected what torch.profiler.tensorboard_trace_handler or export_chrome_trace write");
}

void FolderImport::require_one_job() const {
  std::map<std::pair<std::string, std::optional<int>>, std::size_t> jobs;
  for (const Found& one : traces_) ++jobs[{one.job, one.world_size}];
  if (jobs.size() == 1) return;
  std::vector<std::string> names;
  for (const auto& [job, count] : jobs) {
    const auto& [name, world] = job;
    names.push_back(fmt::format("{} ({} file{}{})", name.empty() ? "host_pid" : name, count,
                                count == 1 ? "" : "s",
                                world ? fmt::format(" of {} ranks", *world) : ""));
  }
  const std::string& first = jobs.begin()->first.first;
  refuse(fmt::format("holds traces of {} jobs: {}", jobs.size(), listed(names)),
         fmt::format(
             "Give the files of one of them: ddpsim import {} -o job.json",
             (folder_ / (first.empty() || first.ends_with('/') ? first + "*" : first)).string()));
}

void FolderImport::keep_last_cycle() {
  std::map<std::string, std::size_t> cycles;
  for (const Found& one : traces_) ++cycles[one.process];
  cycles_ = cycles.begin()->second;
  for (const auto& [process, count] : cycles) {
    if (count == cycles_) continue;
    refuse(fmt::format("{} wrote {} traces, {} wrote {}: which belong together cannot be told",
                       cycles.begin()->first, cycles_, process, count),
           "Give the files of one cycle, one for each rank");
  }
  if (cycles_ == 1) return;
  std::map<std::string, Found> last;
  const auto when = [](const Found& one) { return std::pair(one.time.size(), one.time); };
  for (Found& one : traces_) {
    Found& kept = last[one.process];
    if (kept.path.empty() || when(one) > when(kept)) kept = std::move(one);
  }
  traces_.clear();
  for (auto& [process, found] : last) traces_.push_back(std::move(found));
}

void FolderImport::require_one_each() {
  if (traces_.size() == 1) return;
  for (const Found& one : traces_) {
    if (one.rank) continue;
    refuse(
        fmt::format("holds {} traces, but the rank of {} is neither in it (distributedInfo) nor in "
                    "its name",
                    traces_.size(), below(one.path)),
        "Name the files in order of rank (ddpsim import RANK0 RANK1 …), or give only one of them");
  }
  std::ranges::stable_sort(traces_, {}, [](const Found& one) { return *one.rank; });
  const auto twin = std::ranges::adjacent_find(
      traces_, [](const Found& a, const Found& b) { return a.rank == b.rank; });
  if (twin == traces_.end()) return;
  refuse(fmt::format("{} and {} are both of rank {}: of two runs", below(twin->path),
                     below(std::next(twin)->path), *twin->rank),
         "Give the files of one run, or a folder with no other");
}

void FolderImport::describe(Imported& imported) const {
  std::string line = fmt::format("a folder: {} trace{}", traces_.size() * cycles_,
                                 traces_.size() * cycles_ == 1 ? "" : "s");
  if (cycles_ > 1) line += fmt::format(", {} of each process; the last one is used", cycles_);
  if (!others_.empty())
    line += fmt::format("; left out: {} other file{} ({})", others_.size(),
                        others_.size() == 1 ? "" : "s", listed(others_));
  if (!foreign_.empty())
    line += fmt::format("; left out, without an event of a PyTorch profiler: {}", listed(foreign_));
  imported.recognised.insert(imported.recognised.begin(), std::move(line));
}

}  // namespace

bool holds_traces(const fs::path& folder) {
  try {
    return FolderImport(folder, {}).holds_trace();
  } catch (const InputError&) {
    return false;
  }
}

Imported import_folder(const fs::path& folder, const ImportOptions& options) {
  return FolderImport(folder, options).run();
}

}  // namespace ddpsim
