#include "diff_side.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/calibrate/validate/step_argument.hpp"
#include "ddpsim/calibrate/validate/step_times.hpp"
#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/jobs/archive_calibration.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/traces/rank_group.hpp"

namespace ddpsim {
namespace {

constexpr const char* kWhatIsRead =
    "Expected traces, a workload file, step times (104ms, FILE, FILE:KEY=UNIT), logs, an "
    "environment or an archive; see docs/reference/diff.md";
constexpr std::int64_t kLargestText = 256LL << 20;
constexpr std::uintmax_t kLargestDdpLog = 16U << 20;

bool exists(const std::string& path) {
  std::error_code error;
  return !path.empty() && std::filesystem::exists(path, error);
}

/// Splits a side at commas, except within the name of a file and in LOG@1x8,NCCL_ALGO=Ring.
std::vector<std::string> items_of(const std::string& text) {
  if (exists(text)) return {text};
  std::vector<std::string> items;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string item = text.substr(from, to - from);
    if (!items.empty() && item.starts_with("NCCL_") && item.find('=') != std::string::npos &&
        items.back().find('@') != std::string::npos && !exists(item))
      items.back() += ',' + item;
    else
      items.push_back(item);
    from = to + 1;
  }
  return items;
}

bool is_of_recorder(const Workload& workload) {
  return std::ranges::any_of(workload.provenance, [](const auto& entry) {
    return entry.first == "kind" && entry.second == "recorder";
  });
}

/// Returns the recorder's files of each rank in a folder. Ranks recorded without all-reduces cannot be joined, so only the first of them is
/// returned. `unread` gets the reasons of recordings that cannot be read.
std::vector<RankImport> recorded_ranks(const std::string& folder, const ImportOptions& options,
                                       std::vector<Diagnostic>& unread) {
  std::vector<RankImport> ranks, alone;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return ranks;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error) || !is_recording(entry.path())) continue;
    try {
      Imported imported = import_file(entry.path(), options);
      if (is_of_recorder(imported.workload))
        (imported.rank_trace ? ranks : alone).push_back({entry.path(), std::move(imported)});
    } catch (const InputError& damaged) {
      unread.push_back(damaged.diagnostic());
    }
  }
  if (ranks.empty() && !alone.empty())
    ranks.push_back(std::move(*std::ranges::min_element(alone, {}, &RankImport::file)));
  std::ranges::sort(ranks, {}, &RankImport::file);
  return ranks;
}

class SideReader {
 public:
  SideReader(const std::string& text, const DiffReading& reading) : text_(text), reading_(reading) {
    side_.shown.source = text;
    options_.model = reading.model.value_or("");
    options_.kernel_times = true;
  }

  DiffSide run() {
    const std::vector<std::string> items = items_of(text_);
    alone_ = items.size() == 1;
    for (const std::string& item : items) take_item(item);
    take_recordings();
    if (side_.workload) side_.recorded_step = step_breakdown(*side_.workload);
    side_.evidence = read_evidence(texts_);
    side_.warnings.insert(side_.warnings.end(), side_.evidence.warnings.begin(),
                          side_.evidence.warnings.end());
    if (kinds_.empty() && side_.evidence.empty() && !unread_.empty())
      throw InputError(unread_.front());
    for (const Diagnostic& unread : unread_)
      side_.warnings.push_back(fmt::format("{} is not used: {}", unread.file, unread.message));
    if (!side_.evidence.empty() && kinds_.empty()) kinds_.emplace_back("evidence without times");
    side_.shown.kind = fmt::to_string(fmt::join(kinds_, ", "));
    if (reading_.batch && !side_.shown.samples_per_step_per_gpu)
      side_.shown.samples_per_step_per_gpu = static_cast<double>(*reading_.batch);
    return std::move(side_);
  }

 private:
  void take_item(const std::string& item);
  void take_recordings();
  void take_alone(const std::filesystem::path& file);
  void take_recording(Imported imported);
  void take_archive(const std::string& path);
  void take_measured(const std::string& item);
  void take_text(const std::string& item, const std::string& file, const StepTimesAsked& key);
  StepTimesAsked with_batch(StepTimesAsked asked) const;
  void leave_out(const InputError& error);
  void add_text(const std::filesystem::path& file);
  void take_unprofiled(Duration step);
  bool is_stated(std::string_view found, std::string_view source);
  void take_steps(MeasuredSteps measured);
  void take_logs(const std::vector<MeasuredLog>& logs);

  const std::string& text_;
  const DiffReading& reading_;
  ImportOptions options_;
  std::vector<std::filesystem::path> recordings_;  ///< not read yet
  std::vector<RankImport> ranks_;                  ///< already read
  std::vector<EvidenceText> texts_;
  std::vector<Diagnostic> unread_;  ///< items that cannot be used
  std::vector<std::string> kinds_;
  bool is_stated_ = false;  ///< the step is a typed time
  bool has_times_ = false;  ///< a file had step times
  bool alone_ = true;       ///< there is only one item
  DiffSide side_;
};

void SideReader::take_item(const std::string& item) {
  if (exists(item) && is_archive(item)) return take_archive(item);
  if (exists(item) && is_recording(item)) {
    recordings_.emplace_back(item);
    return;
  }
  std::vector<RankImport> ranks = recorded_ranks(item, options_, unread_);
  std::error_code none;
  if (ranks.empty() && std::filesystem::is_directory(item, none)) {
    if (!unread_.empty()) throw InputError(unread_.front());
    // Its import says what is missing.
    recordings_.emplace_back(item);
    return;
  }
  if (ranks.empty()) return take_measured(item);
  if (ranks.size() == 1)
    side_.warnings.push_back(fmt::format(
        "{}: only {} is compared; ranks can be joined if all were recorded with collectives=True",
        item, std::filesystem::path(ranks.front().file).filename().string()));
  for (RankImport& rank : ranks) ranks_.push_back(std::move(rank));
}

void SideReader::take_recordings() {
  if (recordings_.size() + ranks_.size() > 1) {
    std::vector<RankImport> ranks = import_each(recordings_, options_);
    for (RankImport& rank : ranks_) ranks.push_back(std::move(rank));
    take_recording(join_ranks(std::move(ranks)));
  } else if (!recordings_.empty()) {
    take_alone(recordings_.front());
  } else if (!ranks_.empty()) {
    take_recording(std::move(ranks_.front().imported));
  }
}

/// Takes a single recording. The options in DDP's logging data are also evidence, even if the rest is no workload.
void SideReader::take_alone(const std::filesystem::path& file) {
  try {
    Imported imported = import_file(file, options_);
    if (imported.ddp_log) add_text(file);
    take_recording(std::move(imported));
  } catch (const InputError& error) {
    std::error_code none;
    if (std::filesystem::is_directory(file, none) ||
        std::filesystem::file_size(file, none) > kLargestDdpLog)
      throw;
    add_text(file);
    if (read_evidence(texts_.back().text, texts_.back().file).ddp.empty()) throw;
    side_.warnings.push_back(fmt::format("only its options are used: {}", error.what()));
  }
}

void SideReader::take_recording(Imported imported) {
  if (side_.workload)
    throw InputError({text_, "", "contains two recordings of a job",
                      "Give one archive, or the traces of one job's ranks"});
  Workload& workload = side_.workload.emplace(std::move(imported.workload));
  side_.joined = std::move(imported.joined);
  side_.kernels = imported.kernel_times;
  for (std::string& warning : imported.warnings) side_.warnings.push_back(std::move(warning));
  if (!imported.alone.empty()) side_.warnings.push_back(std::move(imported.alone));
  kinds_.push_back(workload.ranks.size() > 1
                       ? fmt::format("recordings of {} ranks", workload.ranks.size())
                   : imported.ddp_log ? std::string("DDP logging data")
                                      : std::string("a recording of one rank"));
  if (workload.batch_per_gpu)
    side_.shown.samples_per_step_per_gpu =
        static_cast<double>(*workload.batch_per_gpu) * micro_batches(workload);
  if (imported.unprofiled_step) take_unprofiled(*imported.unprofiled_step);
}

void SideReader::take_unprofiled(Duration step) {
  if (is_stated("one", "its step without a profiler")) return;
  side_.steps = {step};
  kinds_.emplace_back("its step without a profiler");
}

/// Returns whether a time was typed, which takes precedence over times found in files. Warns about those.
bool SideReader::is_stated(std::string_view found, std::string_view source) {
  if (is_stated_)
    side_.warnings.push_back(
        fmt::format("the stated time is compared, not the {} found with it, {}", found, source));
  return is_stated_;
}

void SideReader::take_steps(MeasuredSteps measured) {
  if (is_stated(measured.steps.size() == 1 ? "one" : "times", measured.source)) return;
  if (std::exchange(has_times_, true))
    throw InputError({text_, "", "contains two sets of step times", "Give those of one run"});
  for (std::string& warning : measured.warnings) side_.warnings.push_back(std::move(warning));
  side_.steps = std::move(measured.steps);
  kinds_.push_back("step times, " + measured.source);
}

void SideReader::take_logs(const std::vector<MeasuredLog>& logs) {
  for (const MeasuredLog& log : logs) {
    if (log.points.empty()) continue;
    if (side_.logs.empty()) kinds_.emplace_back("an all_reduce_perf log");
    const int nodes = log.nodes.value_or(0);
    const std::string settings = settings_text(log.settings);
    auto at = std::ranges::find_if(side_.logs, [&](const LoggedAllReduces& known) {
      return known.ranks == log.ranks && known.nodes == nodes && known.settings == settings;
    });
    if (at == side_.logs.end()) {
      side_.logs.push_back({.ranks = log.ranks,
                            .out_of_place = {},
                            .in_place = {},
                            .nodes = nodes,
                            .settings = settings});
      at = side_.logs.end() - 1;
    }
    for (const MeasuredPoint& point : log.points) {
      at->out_of_place.emplace_back(point.size, Duration::microseconds(point.time_us));
      if (point.in_place_us)
        at->in_place.emplace_back(point.size, Duration::microseconds(*point.in_place_us));
    }
    for (const std::string& warning : log.warnings)
      if (warning != nodes_unknown(log.ranks)) side_.warnings.push_back(warning);
  }
}

/// Takes the parts that an archive has. Parts of the answer that need a missing one are left out.
void SideReader::take_archive(const std::string& path) {
  Archive archive = read_archive(path);
  kinds_.emplace_back("an archive");
  side_.warnings.insert(side_.warnings.end(), archive.warnings.begin(), archive.warnings.end());
  const bool recorded =
      !archive.of(ArchiveKind::trace).empty() || !archive.of(ArchiveKind::ddp_log).empty();
  if (recorded) {
    try {
      take_recording(import_archive(archive, options_));
    } catch (const InputError& error) {
      side_.warnings.push_back(fmt::format("its recordings cannot be used: {}", error.what()));
    }
  }
  if (archive.batch_size && !side_.shown.samples_per_step_per_gpu)
    side_.shown.samples_per_step_per_gpu = *archive.batch_size;
  const auto times = archive.of(ArchiveKind::step_times);
  if (!times.empty()) {
    const std::string name = archive.name_of(*times.front());
    take_steps(parse_step_times(times.front()->bytes, name,
                                with_batch(parse_step_times_asked(name, times.front()->key))));
  } else if (archive.step && side_.steps.empty()) {
    take_unprofiled(*archive.step);
  }
  take_logs(logs_in(archive));
  // Last, because it moves the bytes of the members.
  for (ArchiveMember& member : archive.members) {
    switch (member.kind) {
      case ArchiveKind::ddp_log:
      case ArchiveKind::nccl_log:
      case ArchiveKind::environment:
      case ArchiveKind::versions:
      case ArchiveKind::pinning:
      case ArchiveKind::gpus:
      case ArchiveKind::devices:
      case ArchiveKind::lspci:
      case ArchiveKind::all_reduce_log:
        texts_.push_back({.file = member.path,
                          .text = std::move(member.bytes),
                          .node = member.node ? fmt::format("node{}", *member.node) : ""});
        break;
      default:
        break;
    }
  }
}

void SideReader::add_text(const std::filesystem::path& file) {
  texts_.push_back({.file = file.filename().string(),
                    .text = read_file(file.string(), kLargestText),
                    .node = ""});
}

/// Adds the samples per GPU that this side or --batch states.
StepTimesAsked SideReader::with_batch(StepTimesAsked asked) const {
  asked.samples_per_gpu = side_.shown.samples_per_step_per_gpu;
  if (!asked.samples_per_gpu && reading_.batch)
    asked.samples_per_gpu = static_cast<double>(*reading_.batch);
  return asked;
}

/// Leaves out a log that cannot be used, unless it is the only item.
void SideReader::leave_out(const InputError& error) {
  if (alone_) throw InputError(error.diagnostic());
  unread_.push_back(error.diagnostic());
}

void SideReader::take_text(const std::string& item, const std::string& file,
                           const StepTimesAsked& key) {
  add_text(file);
  const std::string& text = texts_.back().text;
  const bool is_evidence = !read_evidence(text, texts_.back().file).empty();
  if (!key.key.empty()) return take_steps(parse_step_times(text, file, with_batch(key)));
  std::optional<Diagnostic> no_log;
  try {
    const LogArgument argument = parse_log_argument(item);
    const std::vector<MeasuredLog> logs =
        parse_timed_logs(text, argument.path.string(), argument.stated, no_log);
    if (!logs.empty()) return take_logs(logs);
  } catch (const InputError& error) {
    return leave_out(error);
  }
  try {
    take_steps(parse_step_times(text, file, with_batch({})));
  } catch (const InputError& error) {
    const bool none = error.diagnostic().message == kNoStepTime;
    if (none && no_log && is_of_nccl_tests(text)) return leave_out(InputError(*no_log));
    if (none)
      if (const auto other = other_measurement(text, file)) return leave_out(InputError(*other));
    if (is_evidence && none) return;
    if (!is_evidence && !none) throw;
    unread_.push_back(error.diagnostic());
  }
}

void SideReader::take_measured(const std::string& item) {
  if (exists(item)) return take_text(item, item, {});
  const std::size_t at = item.rfind('@');
  if (at != std::string::npos && exists(item.substr(0, at)))
    return take_text(item, item.substr(0, at), {});
  const StepArgument argument = parse_step_argument(item);
  if (argument.time) {
    if (*argument.time <= Duration() || *argument.time > kLongestStep)
      throw InputError(
          {item, "", "a step must take more than 0 and at most a day", "Check its unit"});
    if (!std::exchange(is_stated_, true)) {
      side_.steps.clear();
      kinds_.emplace_back("a step time");
    }
    side_.steps.push_back(*argument.time);
    return;
  }
  if (argument.file) return take_text(item, argument.file->name, argument.file->asked);
  if (!is_workload(item)) throw InputError({item, "", "is neither a file nor a time", kWhatIsRead});
  LoadedWorkload loaded = load_workload({.source = item, .model = reading_.model});
  Imported imported;
  imported.workload = std::move(loaded.workload);
  imported.warnings = std::move(loaded.warnings);
  take_recording(std::move(imported));
}

}  // namespace

DiffSide read_diff_side(const std::string& text, const DiffReading& reading) {
  return SideReader(text, reading).run();
}

}  // namespace ddpsim
