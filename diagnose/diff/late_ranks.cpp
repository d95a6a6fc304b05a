#include "ddpsim/diagnose/diff/late_ranks.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

/// With fewer steps, lateness that stays with a rank cannot be told from chance.
constexpr std::size_t kFewestSteps = 5;
/// Ranks that cost the others at least this share of what the most costly rank costs count as late
/// too.
constexpr double kLateToo = 0.5;
/// Share of a step that ranks wait for each other without any of them being late. Published ranks
/// of one job vary by 1 to 2 %.
constexpr double kNobody = 0.01;

class Lateness {
 public:
  Lateness(const Workload& workload, std::optional<int> gpus_per_node,
           std::vector<RankCollectiveTimes> times)
      : workload_(workload), gpus_per_node_(gpus_per_node), times_(std::move(times)) {}

  std::optional<LateRanks> find();

 private:
  void count();
  void find_work();
  void find_pattern();
  bool are_one_of_several(const std::set<int>& late, const std::function<int(int)>& group_of) const;
  std::set<int> late_with(std::size_t most) const;

  const Workload& workload_;
  const std::optional<int> gpus_per_node_;
  const std::vector<RankCollectiveTimes> times_;  ///< never empty
  LateRanks result_;
};

std::optional<LateRanks> Lateness::find() {
  if (times_.empty()) return std::nullopt;
  for (const RankRecording& rank : workload_.ranks) result_.ranks.push_back({.rank = rank.rank});
  result_.steps = times_.back().step + 1;
  result_.collectives = times_.size();
  result_.complete = all_ranks_there(workload_);
  count();
  find_work();
  find_pattern();
  return result_;
}

/// Adds up waits. Overlapping waits, from all-reduces in flight together, count once.
class Waiting {
 public:
  void add(Duration start, Duration wait) {
    if (wait > Duration()) intervals_.emplace_back(start, start + wait);
  }
  double microseconds() {
    std::ranges::sort(intervals_);
    double sum = 0;
    std::optional<Duration> reached;
    for (const auto& [start, end] : intervals_) {
      const Duration from = reached ? std::max(start, *reached) : start;
      if (end > from) sum += (end - from).microseconds();
      reached = reached ? std::max(*reached, end) : end;
    }
    return sum;
  }

 private:
  std::vector<std::pair<Duration, Duration>> intervals_;
};

void Lateness::count() {
  const std::size_t ranks = result_.ranks.size();
  // By step, by waiting rank, by last rank.
  std::vector<std::vector<std::vector<Waiting>>> waiting(
      result_.steps, std::vector<std::vector<Waiting>>(ranks, std::vector<Waiting>(ranks)));
  std::vector<double> caused(ranks), waited(ranks);
  double transfer = 0;
  for (const RankCollectiveTimes& one : times_) {
    const std::vector<Duration> waits = one.waits();
    const std::size_t last = one.last();
    ++result_.ranks[last].times_last;
    transfer += one.transfer().microseconds();
    for (std::size_t r = 0; r < ranks; ++r) waiting[one.step][r][last].add(one.starts[r], waits[r]);
  }
  for (std::vector<std::vector<Waiting>>& step : waiting) {
    std::vector<double> of_step(ranks);
    for (std::size_t last = 0; last < ranks; ++last) {
      std::vector<double> others;
      for (std::size_t r = 0; r < ranks; ++r) {
        const double wait = step[r][last].microseconds();
        waited[r] += wait;
        if (r != last) others.push_back(wait);
      }
      of_step[last] = quantile(std::move(others), 0.5);
      caused[last] += of_step[last];
    }
    const auto most = std::ranges::max_element(of_step);
    if (*most > 0) ++result_.ranks[static_cast<std::size_t>(most - of_step.begin())].steps_last;
  }
  const auto steps = static_cast<double>(result_.steps);
  for (std::size_t r = 0; r < ranks; ++r) {
    result_.ranks[r].caused = Duration::microseconds(caused[r] / steps);
    result_.ranks[r].waited = Duration::microseconds(waited[r] / steps);
  }
  result_.transfer = Duration::microseconds(transfer / steps);
}

/// Finds the part that exceeds the other ranks' median most.
void Lateness::find_work() {
  std::vector<StepBreakdown> own;
  for (std::size_t r = 0; r < workload_.ranks.size(); ++r) {
    std::optional<StepBreakdown> one = step_breakdown(workload_, r);
    if (!one || !one->parts_known) return;
    own.push_back(*one);
  }
  struct Kind {
    StepPart part;
    std::string_view phase;
    Duration (*of)(const StepBreakdown&);
  };
  // Only the rank's own work, because waits and transfers are caused by others and by the wire.
  const std::array<Kind, 8> kinds = {{
      {StepPart::kernels, "forward", [](const StepBreakdown& b) { return b.kernels.forward; }},
      {StepPart::kernels, "backward", [](const StepBreakdown& b) { return b.kernels.backward; }},
      {StepPart::kernels, "optimizer", [](const StepBreakdown& b) { return b.kernels.optimizer; }},
      {part_of(LossCause::launch_bound), "",
       [](const StepBreakdown& b) { return b[LossCause::launch_bound].time; }},
      {part_of(LossCause::copies), "",
       [](const StepBreakdown& b) { return b[LossCause::copies].time; }},
      {part_of(LossCause::buffer_broadcast), "",
       [](const StepBreakdown& b) { return b[LossCause::buffer_broadcast].time; }},
      {part_of(LossCause::input), "",
       [](const StepBreakdown& b) { return b[LossCause::input].time; }},
      {part_of(LossCause::unexplained), "",
       [](const StepBreakdown& b) { return b[LossCause::unexplained].time; }},
  }};
  for (std::size_t r = 0; r < own.size(); ++r) {
    LateRank& rank = result_.ranks[r];
    for (const Kind& kind : kinds) {
      std::vector<Duration> others;
      for (std::size_t k = 0; k < own.size(); ++k)
        if (k != r) others.push_back(kind.of(own[k]));
      const Duration longer = kind.of(own[r]) - quantile(std::move(others), 0.5);
      if (longer <= rank.longer) continue;
      rank.longer = longer;
      rank.work = kind.part;
      rank.phase = kind.phase;
    }
  }
}

/// The ranks that cost about as much as the most costly one.
std::set<int> Lateness::late_with(std::size_t most) const {
  std::set<int> late;
  for (const LateRank& rank : result_.ranks)
    if (rank.caused >= result_.ranks[most].caused.scaled(kLateToo) && rank.caused > Duration())
      late.insert(rank.rank);
  return late;
}

/// Whether the late ranks are all ranks of one group, and other groups have ranks too.
bool Lateness::are_one_of_several(const std::set<int>& late,
                                  const std::function<int(int)>& group_of) const {
  const int group = group_of(*late.begin());
  const auto is_as_late = [&](const LateRank& rank) {
    return (group_of(rank.rank) == group) == late.contains(rank.rank);
  };
  return late.size() < result_.ranks.size() && std::ranges::all_of(result_.ranks, is_as_late);
}

void Lateness::find_pattern() {
  std::vector<std::size_t> order(result_.ranks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return result_.ranks[a].caused > result_.ranks[b].caused;
  });
  const LateRank& worst = result_.ranks[order.front()];
  const Duration step = workload_.iteration.value_or(
      workload_.forward.value_or(Duration()) +
      (workload_.backward ? workload_.backward->duration : Duration()));
  if (worst.caused <= step.scaled(kNobody)) {
    result_.pattern = LatePattern::nobody;
    return;
  }
  const std::set<int> late = late_with(order.front());
  for (const std::size_t position : order)
    if (late.contains(result_.ranks[position].rank))
      result_.late.push_back(result_.ranks[position].rank);
  if (result_.steps < kFewestSteps) {
    result_.pattern = LatePattern::unknown;
    return;
  }
  const auto lasting = [&](std::size_t times) {
    return static_cast<double>(times) >= kLasting * static_cast<double>(result_.steps);
  };
  std::size_t steps_last = 0;
  for (const LateRank& rank : result_.ranks)
    if (late.contains(rank.rank)) steps_last += rank.steps_last;
  if (lasting(worst.steps_last) && late.size() == 1) {
    result_.pattern = LatePattern::one_rank;
  } else if (!lasting(steps_last) || late.size() == result_.ranks.size()) {
    result_.pattern = LatePattern::wandering;
  } else if (gpus_per_node_ && *gpus_per_node_ > 1) {
    const auto node_of = [&](int rank) { return rank / *gpus_per_node_; };
    const auto slot_of = [&](int rank) { return rank % *gpus_per_node_; };
    result_.pattern = are_one_of_several(late, node_of)   ? LatePattern::node
                      : are_one_of_several(late, slot_of) ? LatePattern::slot
                                                          : LatePattern::several;
  } else {
    result_.pattern = LatePattern::several;
  }
}

}  // namespace

std::string_view name_of(LatePattern pattern) {
  constexpr std::array<std::string_view, 7> kNames = {"nobody", "one_rank",  "several", "node",
                                                      "slot",   "wandering", "unknown"};
  return kNames.at(static_cast<std::size_t>(pattern));
}

std::optional<LateRanks> late_ranks(const Workload& workload, std::optional<int> gpus_per_node,
                                    std::span<const JoinedCollective> joined) {
  std::vector<RankCollectiveTimes> times = rank_collective_times(workload);
  const bool one_step = times.empty() || times.back().step == 0;
  const bool all_there = std::ranges::all_of(joined, [&](const JoinedCollective& one) {
    return one.durations.size() == workload.ranks.size();
  });
  if (one_step && all_there && joined.size() > times.size()) {
    times.clear();
    for (const JoinedCollective& one : joined)
      times.push_back({.step = 0, .starts = one.starts, .durations = one.durations});
  }
  return Lateness(workload, gpus_per_node, std::move(times)).find();
}

std::optional<StepDifference> late_rank_difference(const Workload& before, const Workload& now,
                                                   const LateRanks& late) {
  if (late.late.empty()) return std::nullopt;
  const auto breakdown_in = [&](const Workload& workload) -> std::optional<StepBreakdown> {
    const auto found = std::ranges::find(workload.ranks, late.late.front(), &RankRecording::rank);
    if (found == workload.ranks.end()) return std::nullopt;
    return step_breakdown(workload, static_cast<std::size_t>(found - workload.ranks.begin()));
  };
  const auto old = breakdown_in(before);
  const auto own = breakdown_in(now);
  if (!old || !own || !old->parts_known || !own->parts_known) return std::nullopt;
  return difference(*old, *own);
}

}  // namespace ddpsim
