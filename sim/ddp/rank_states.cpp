#include "rank_states.hpp"

#include "ddpsim/sim/quantile.hpp"
#include "ddpsim/sim/step.hpp"

namespace ddpsim {

RankStates::RankStates(const Job& job) : workload_(job.workload()), options_(job.options()) {
  const bool recorded_apart = !workload_.ranks.empty() && options_.iterations > 0;
  if (options_.variation.empty() && !recorded_apart) return;
  const int ranks = job.cluster().ranks();
  states_.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    Duration& start = states_[static_cast<std::size_t>(rank)].start;
    if (const auto recording = recording_of(workload_, rank))
      start = workload_.ranks[*recording].offset.scaled(1 / compute_speed(job));
    if (options_.iterations > 0) start += first_start(options_.variation, rank, ranks);
  }
}

const std::vector<RankState>& RankStates::of_iteration(int iteration) {
  for (std::size_t r = 0; r < states_.size(); ++r)
    states_[r].slowdown = slowdown(options_.variation, static_cast<int>(r), iteration);
  return states_;
}

const std::vector<RankState>& RankStates::steady() {
  for (std::size_t r = 0; r < states_.size(); ++r)
    states_[r].slowdown = steady_slowdown(options_.variation, static_cast<int>(r));
  return states_;
}

bool RankStates::advance(const ReducerSchedule& planned, const Execution& execution) {
  if (states_.empty() || planned.program_of_rank.empty()) return false;
  const auto next_start = [&](std::size_t rank) {
    const auto& compute = execution.ranks[planned.program_of_rank[rank]].compute;
    const auto recording = recording_of(workload_, static_cast<int>(rank));
    const Recorded& recorded =
        recording ? static_cast<const Recorded&>(workload_.ranks[*recording]) : workload_;
    const Duration end = compute.empty() ? states_[rank].start : compute.back().end.since_start();
    return end + stall(recorded).value_or(Duration()) * options_.ddp.accumulate;
  };
  const Duration first = next_start(0);
  bool changed = false;
  for (std::size_t r = 0; r < states_.size(); ++r) {
    const Duration start = next_start(r) - first;
    changed = changed || start != states_[r].start;
    states_[r].start = start;
  }
  return changed;
}

void WaitBook::add(const ReducerSchedule& planned, const Execution& execution) {
  const std::vector<std::size_t>& program_of_rank = planned.program_of_rank;
  if (planned.schedule.ranks.size() <= 1) return;
  while (waits_.size() < program_of_rank.size())
    waits_.push_back({.rank = static_cast<int>(waits_.size())});
  for (const CollectiveTime& collective : execution.collectives) {
    Duration total;
    for (std::size_t r = 0; r < waits_.size(); ++r) {
      const Duration wait = collective.last_arrival - collective.starts[program_of_rank[r]];
      waits_[r].wait += wait;
      total += wait;
    }
    if (total == Duration()) continue;
    const std::int64_t alike =
        std::count(program_of_rank.begin(), program_of_rank.end(), collective.last);
    for (std::size_t r = 0; r < waits_.size(); ++r) {
      if (program_of_rank[r] != collective.last) continue;
      ++waits_[r].times_last;
      waits_[r].caused += Duration::picoseconds(total.picoseconds() / alike);
    }
  }
}

std::optional<IterationStatistics> statistics_of(const std::vector<StepResult>& iterations,
                                                 int first) {
  std::vector<Duration> times;
  for (const StepResult& step : iterations)
    if (step.iteration >= first) times.push_back(step.times.iteration);
  if (times.empty()) return std::nullopt;
  IterationStatistics statistics{.first = first,
                                 .count = static_cast<std::int64_t>(times.size()),
                                 .p50 = quantile(times, 0.5)};
  Duration total;
  for (const Duration time : times) total += time;
  statistics.mean = Duration::picoseconds(total.picoseconds() / statistics.count);
  if (times.size() >= 20) statistics.p95 = quantile(times, 0.95);
  if (times.size() >= 100) statistics.p99 = quantile(times, 0.99);
  return statistics;
}

}  // namespace ddpsim
