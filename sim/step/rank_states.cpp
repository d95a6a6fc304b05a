#include "rank_states.hpp"

#include "between_steps.hpp"
#include "ddpsim/sim/step/compute_speed.hpp"

namespace ddpsim {

RankStates::RankStates(const Job& job)
    : job_(job), workload_(job.workload()), options_(job.options()) {
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

bool RankStates::advance(const PlannedStep& planned, const Execution& execution) {
  if (states_.empty() || planned.program_of_rank.empty()) return false;
  const auto next_start = [&](std::size_t rank) {
    const auto& compute = execution.ranks[planned.program_of_rank[rank]].compute;
    const Recorded& recorded = recorded_by(workload_, static_cast<int>(rank));
    const Duration end = compute.empty() ? states_[rank].start : compute.back().end.since_start();
    return end + pause_after_step(job_, recorded) - forward_ahead(job_, recorded);
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

}  // namespace ddpsim
