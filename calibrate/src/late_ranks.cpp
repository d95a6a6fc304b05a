#include "ddpsim/calibrate/late_ranks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ddpsim/sim/quantile.hpp"

namespace ddpsim {
namespace {

/// Of fewer steps nobody can tell what stays with a rank from chance.
constexpr std::size_t kFewestSteps = 5;
/// Ranks that cost the others this share of what the most costly does are late with it.
constexpr double kLateToo = 0.5;
/// Of a step: what ranks wait for each other without anybody being late. Published ranks of one job vary by 1 to 2 %.
constexpr double kNobody = 0.01;

class Lateness {
 public:
  Lateness(const Workload& workload, std::optional<int> gpus_per_node)
      : workload_(workload),
        gpus_per_node_(gpus_per_node),
        times_(rank_collective_times(workload)) {}

  std::optional<LateRanks> find();

 private:
  void count();
  void find_work();
  void find_pattern();
  std::set<int> late_with(std::size_t most) const;

  const Workload& workload_;
  const std::optional<int> gpus_per_node_;
  const std::vector<RankCollectiveTimes> times_;
  LateRanks result_;
};

std::optional<LateRanks> Lateness::find() {
  if (times_.empty()) return std::nullopt;
  for (const RankRecording& rank : workload_.ranks) result_.ranks.push_back({.rank = rank.rank});
  result_.steps = times_.back().step + 1;
  result_.all_reduces = times_.size();
  result_.complete = all_ranks_there(workload_);
  count();
  find_work();
  find_pattern();
  return result_;
}

void Lateness::count() {
  std::vector<double> caused(result_.ranks.size()), waited(result_.ranks.size());
  double transfer = 0;
  std::vector<std::vector<double>> by_step(result_.steps, std::vector<double>(caused.size()));
  for (const RankCollectiveTimes& one : times_) {
    const std::vector<Duration> waits = one.waits();
    std::vector<Duration> others;
    for (std::size_t r = 0; r < waits.size(); ++r) {
      waited[r] += waits[r].microseconds();
      if (r != one.last()) others.push_back(waits[r]);
    }
    const double typical = quantile(std::move(others), 0.5).microseconds();
    ++result_.ranks[one.last()].times_last;
    caused[one.last()] += typical;
    by_step[one.step][one.last()] += typical;
    transfer += one.transfer().microseconds();
  }
  for (const std::vector<double>& step : by_step) {
    const auto most = std::ranges::max_element(step);
    if (*most > 0) ++result_.ranks[static_cast<std::size_t>(most - step.begin())].steps_last;
  }
  const auto steps = static_cast<double>(result_.steps);
  for (std::size_t r = 0; r < caused.size(); ++r) {
    result_.ranks[r].caused = Duration::microseconds(caused[r] / steps);
    result_.ranks[r].waited = Duration::microseconds(waited[r] / steps);
  }
  result_.transfer = Duration::microseconds(transfer / steps);
}

/// The part that grew most beside the other ranks' median.
void Lateness::find_work() {
  std::vector<StepBreakdown> own;
  for (std::size_t r = 0; r < workload_.ranks.size(); ++r) {
    std::optional<StepBreakdown> one = step_breakdown(workload_, r);
    if (!one || !one->parts_known) return;
    own.push_back(std::move(*one));
  }
  struct Kind {
    StepPart part;
    std::string_view phase;
    Duration (*of)(const StepBreakdown&);
  };
  // Only the rank's own work: waits and transfers are what others, and the wire, do to it.
  const std::array<Kind, 7> kinds = {{
      {StepPart::kernels, "forward", [](const StepBreakdown& b) { return b.kernels.forward; }},
      {StepPart::kernels, "backward", [](const StepBreakdown& b) { return b.kernels.backward; }},
      {StepPart::kernels, "optimizer", [](const StepBreakdown& b) { return b.kernels.optimizer; }},
      {part_of(LossCause::launch_bound), "",
       [](const StepBreakdown& b) { return b[LossCause::launch_bound].time; }},
      {part_of(LossCause::copies), "",
       [](const StepBreakdown& b) { return b[LossCause::copies].time; }},
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

/// Ranks that cost about as much as the most costly.
std::set<int> Lateness::late_with(std::size_t most) const {
  std::set<int> late;
  for (const LateRank& rank : result_.ranks)
    if (rank.caused >= result_.ranks[most].caused.scaled(kLateToo) && rank.caused > Duration())
      late.insert(rank.rank);
  return late;
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
    std::set<int> nodes, slots;
    for (const int rank : late) {
      nodes.insert(rank / *gpus_per_node_);
      slots.insert(rank % *gpus_per_node_);
    }
    result_.pattern = nodes.size() == 1   ? LatePattern::node
                      : slots.size() == 1 ? LatePattern::slot
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

std::optional<LateRanks> late_ranks(const Workload& workload, std::optional<int> gpus_per_node) {
  return Lateness(workload, gpus_per_node).find();
}

}  // namespace ddpsim
