#include "ddpsim/traces/rank_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "group_collectives.hpp"
#include "group_report.hpp"
#include "rank_checks.hpp"

namespace ddpsim {
namespace {

/// A transfer cannot end on one rank before the last rank has arrived. But ends of one collective
/// differ by tens of microseconds over a network, and clocks are not more precise than that.
constexpr std::int64_t kClockDoubt_ns = 100'000;

bool same(const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Parameter& x, const Parameter& y) {
                      return x.name == y.name && x.shape == y.shape && x.dtype == y.dtype &&
                             x.ignored == y.ignored && x.frozen == y.frozen;
                    });
}

/// The common beginning of all names, without "-rank" before the number. If nothing remains, the
/// first name.
std::string common_name(const std::vector<RankImport>& ranks) {
  const std::string& first = ranks.front().imported.workload.name;
  std::string_view common = first;
  for (const RankImport& rank : ranks) {
    const std::string& name = rank.imported.workload.name;
    const auto [end, ignored] =
        std::mismatch(common.begin(), common.end(), name.begin(), name.end());
    common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
  }
  const auto drop = [&](std::string_view characters) {
    while (!common.empty() && characters.find(common.back()) != std::string_view::npos)
      common.remove_suffix(1);
  };
  drop("0123456789");
  drop("-_.");
  if (common.ends_with("rank")) common.remove_suffix(4);
  drop("-_.");
  return common.empty() ? first : std::string(common);
}

class RankJoin {
 public:
  explicit RankJoin(std::vector<RankImport> ranks) : ranks_(std::move(ranks)) {}

  Imported run() {
    number_ranks();
    check_one_job();
    match();
    build_workload();
    describe_group({ranks_, numbered_by_place_, collectives_, clocks_}, result_);
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::size_t position, std::string message, Hint hint) const {
    throw InputError({ranks_[position].file, "", std::move(message), std::move(hint)});
  }
  const RankTrace& trace(std::size_t position) const {
    return *ranks_[position].imported.rank_trace;
  }
  const Workload& workload(std::size_t position) const {
    return ranks_[position].imported.workload;
  }
  int rank(std::size_t position) const { return static_cast<int>(*trace(position).rank); }

  /// The stated world size. Otherwise the smallest number with a place for each rank and for each
  /// group that a collective names.
  int world_size() const {
    const bool is_stated = trace(0).world_size && !trace(0).world_at_least;
    if (is_stated) return *trace(0).world_size;
    int world = rank(ranks_.size() - 1) + 1;
    for (std::size_t k = 0; k < ranks_.size(); ++k)
      world = std::max(world, trace(k).world_size.value_or(0));
    return world;
  }

  void number_ranks();
  void check_one_job() const;
  void match();
  void check_causes() const;
  void build_workload();

  std::vector<RankImport> ranks_;  ///< by rank
  bool numbered_by_place_ = false;
  std::vector<GroupCollective> collectives_;
  Clocks clocks_;
  Imported result_;
};

void RankJoin::number_ranks() {
  if (ranks_.size() > kMostRecordedRanks) {
    refuse(kMostRecordedRanks, fmt::format("{} inputs", ranks_.size()),
           fmt::format("At most {} ranks are joined", kMostRecordedRanks));
  }
  std::size_t numbered = 0;
  for (std::size_t k = 0; k < ranks_.size(); ++k) {
    if (!ranks_[k].imported.rank_trace) {
      refuse(k, "is not a profiler trace, so it cannot be joined with other ranks",
             "Several inputs are traces of one step, one per rank, or files of the recorder with "
             "collectives=True; give other files one at a time");
    }
    if (!workload(k).ranks.empty())
      refuse(k, fmt::format("holds {} ranks already", workload(k).ranks.size()),
             "Give this file as the only input, because several inputs are one rank each");
    if (trace(k).rank) ++numbered;
  }
  numbered_by_place_ = numbered == 0;
  for (std::size_t k = 0; k < ranks_.size(); ++k) {
    std::optional<std::int64_t>& rank = ranks_[k].imported.rank_trace->rank;
    if (numbered_by_place_) rank = static_cast<std::int64_t>(k);
    if (!rank) {
      refuse(k, "does not say which rank it is (distributedInfo), but other inputs do",
             "Give traces of one job, recorded in the same way");
    }
    if (*rank < 0 || *rank >= 1'000'000'000) refuse(k, fmt::format("rank {}", *rank), "");
  }
  std::stable_sort(ranks_.begin(), ranks_.end(), [](const RankImport& a, const RankImport& b) {
    return *a.imported.rank_trace->rank < *b.imported.rank_trace->rank;
  });
}

void RankJoin::check_one_job() const {
  const auto& first_world = trace(0).world_size;
  for (std::size_t k = 0; k < ranks_.size(); ++k) {
    if (k > 0 && rank(k) == rank(k - 1)) {
      refuse(k,
             fmt::format("this trace is from rank {}, but so is {}", rank(k), ranks_[k - 1].file),
             "Give each rank of one job once");
    }
    if (trace(k).world_size != first_world && !trace(k).world_at_least &&
        !trace(0).world_at_least) {
      const auto text = [](const std::optional<int>& world) {
        return world ? std::to_string(*world) : std::string("an unknown number of");
      };
      refuse(k,
             fmt::format("this trace is from a job of {} ranks, but {} is from a job of {}",
                         text(trace(k).world_size), ranks_[0].file, text(first_world)),
             "Give ranks of one job");
    }
    if (first_world && rank(k) >= *first_world && !trace(0).world_at_least) {
      refuse(k,
             fmt::format("this trace is from rank {}, but its job has {} ranks, numbered from 0",
                         rank(k), *first_world),
             *first_world == 1
                 ? "Each of these traces is from a job of its own; import them one at a time"
                 : "Give ranks of one job");
    }
    if (trace(k).step != trace(0).step) {
      refuse(k,
             fmt::format("holds {}, but {} holds {}", trace(k).step, ranks_[0].file, trace(0).step),
             "Give traces of the same steps");
    }
    if (!same(workload(k).parameters, workload(0).parameters)) {
      refuse(
          k,
          fmt::format("this trace has {} parameters that differ from the {} of {}, so it is from "
                      "another model",
                      workload(k).parameters.size(), workload(0).parameters.size(), ranks_[0].file),
          "Give ranks of one job");
    }
  }
}

void RankJoin::match() {
  std::vector<RankTrace> traces;
  for (std::size_t k = 0; k < ranks_.size(); ++k) traces.push_back(trace(k));
  CollectiveMatch matched = match_collectives(traces);
  if (!matched.mismatch.empty()) {
    refuse(matched.mismatched_rank,
           fmt::format("the collectives of this trace differ from the collectives of {}: {}",
                       ranks_[0].file, matched.mismatch),
           "Give traces of one step of one job, each recorded to the step's end");
  }
  if (matched.left_out > 0)
    result_.warnings.push_back(fmt::format(
        "{} collectives were recorded only by some ranks, as their sequence numbers show; they "
        "are left out",
        matched.left_out));
  collectives_ = std::move(matched.collectives);
  clocks_ = align_clocks(collectives_, ranks_.size());
  check_causes();
  const auto& first = workload(0).recorded_with.collectives;
  for (std::size_t k = 1; k < ranks_.size(); ++k) {
    const auto& own = workload(k).recorded_with.collectives;
    const bool alike = std::equal(own.begin(), own.end(), first.begin(), first.end(),
                                  [](const RecordedCollective& a, const RecordedCollective& b) {
                                    return a.bytes == b.bytes;
                                  });
    if (!alike) {
      refuse(k,
             fmt::format("the buckets of this trace differ from the buckets of {}", ranks_[0].file),
             "Give traces of one step of one job");
    }
  }
}

/// Checks that no collective ends before all ranks have begun it. Otherwise the steps are from
/// different runs.
void RankJoin::check_causes() const {
  if (trace(0).on_host_clock) return;
  for (const GroupCollective& one : collectives_) {
    if (one.operation.find("reduce") == std::string::npos) continue;  // others may end early
    for (std::size_t k = 0; k < ranks_.size(); ++k) {
      const std::int64_t early_ns = one.last_arrival_ns() - one.end_ns[k];
      if (early_ns <= kClockDoubt_ns) continue;
      refuse(k,
             fmt::format(
                 "{} in this trace ended {:.3f} ms before rank {} had begun it, however the clocks "
                 "are set, so this trace is from another step than the other inputs",
                 one.operation, static_cast<double>(early_ns) / 1e6, rank(one.last_to_arrive())),
             "Give traces of one run, recorded at the same step");
    }
  }
}

void RankJoin::build_workload() {
  result_.workload = workload(0);
  Workload& joined = result_.workload;
  joined.name = common_name(ranks_);
  const int world = world_size();
  joined.recorded_with.world_size = world;
  if (!trace(0).world_size)
    result_.warnings.push_back(fmt::format(
        "the number of ranks is unknown; rank {} is assumed to be the last", world - 1));
  for (std::size_t k = 0; k < ranks_.size(); ++k) {
    RankRecording recording;
    static_cast<Recorded&>(recording) = workload(k);
    recording.recorded_with.world_size = world;
    recording.rank = rank(k);
    const std::int64_t start_ns = trace(k).forward_start_ns - clocks_.shift_ns[k];
    recording.offset = Duration::picoseconds((start_ns - trace(0).forward_start_ns) * 1000);
    joined.ranks.push_back(std::move(recording));
  }
  result_.bucket_bytes = ranks_[0].imported.bucket_bytes;
  result_.rank_trace = trace(0);
  result_.kernel_times = ranks_[0].imported.kernel_times;
  for (const GroupCollective& one : collectives_) {
    JoinedCollective& shown = result_.joined.emplace_back();
    shown.operation = one.operation;
    shown.bytes = one.bytes;
    for (std::size_t k = 0; k < ranks_.size(); ++k) {
      shown.ranks.push_back(rank(k));
      shown.starts.push_back(
          Duration::picoseconds((one.start_ns[k] - trace(0).forward_start_ns) * 1000));
      shown.durations.push_back(Duration::picoseconds((one.end_ns[k] - one.start_ns[k]) * 1000));
    }
  }
}

}  // namespace

Imported join_ranks(std::vector<RankImport> ranks) {
  return RankJoin(std::move(ranks)).run();
}

ImportOptions at_step_of(const Imported& first, ImportOptions options) {
  if (!first.rank_trace) return options;
  options.step = first.rank_trace->step;
  options.iteration.reset();
  return options;
}

std::vector<RankImport> import_each(std::span<const std::filesystem::path> paths,
                                    const ImportOptions& options) {
  std::vector<RankImport> ranks;
  ImportOptions same_step = options;
  for (const std::filesystem::path& path : paths) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none))
      throw InputError({path.string(), "", "is a folder among several inputs",
                        "Give only one folder, or the files of one job"});
    ranks.push_back({path.string(), import_file(path, same_step)});
    if (ranks.size() == 1) same_step = at_step_of(ranks.front().imported, options);
  }
  return ranks;
}

Imported import_ranks(std::span<const std::filesystem::path> paths, const ImportOptions& options) {
  return join_ranks(import_each(paths, options));
}

}  // namespace ddpsim
