#include "collective_intervals.hpp"

#include <algorithm>
#include <array>

namespace ddpsim {
namespace {

/// Causes by priority: if several apply at the same time, the first one counts.
constexpr std::array kLayers = {LossCause::exposed_all_reduce,
                                LossCause::exposed_reduce_scatter,
                                LossCause::exposed_all_gather,
                                LossCause::exposed_broadcast,
                                LossCause::used_map,
                                LossCause::straggler,
                                LossCause::jitter,
                                LossCause::slowest_gpu,
                                LossCause::offload};

std::size_t layer_of(LossCause cause) {
  return static_cast<std::size_t>(std::ranges::find(kLayers, cause) - kLayers.begin());
}

/// Says why other ranks wait for this rank.
LossCause cause_of_waiting_for(int rank, const Job& job) {
  const SimulationOptions& options = job.options();
  if (steady_slowdown(options.variation, rank) > 1) return LossCause::straggler;
  if (options.variation.jitter > 0 && options.iterations > 0) return LossCause::jitter;
  if (!job.workload().ranks.empty()) return LossCause::slowest_gpu;
  return LossCause::straggler;  // it started late
}

/// Cause of a collective's transfer. The reducer's collectives of buffers and statistics are told
/// apart later, by what waits for them.
LossCause cause_of_transfer(const PlannedStep& planned, std::size_t collective) {
  if (!planned.buckets.empty()) return LossCause::exposed_all_reduce;
  switch (planned.collectives[collective].scheduled.kind) {
    case CollectiveKind::all_reduce:
      return LossCause::exposed_all_reduce;
    case CollectiveKind::all_gather:
      return LossCause::exposed_all_gather;
    case CollectiveKind::reduce_scatter:
      return LossCause::exposed_reduce_scatter;
    default:
      return LossCause::exposed_broadcast;
  }
}

struct Border {
  TimePoint at;
  std::size_t layer;
  int change;
};

std::vector<Border> borders_of(const PlannedStep& planned, const Execution& execution,
                               const Job& job) {
  std::vector<Border> borders;
  borders.reserve(4 * execution.collectives.size());
  const auto add = [&](TimePoint start, TimePoint end, LossCause cause) {
    if (start >= end) return;
    borders.push_back({start, layer_of(cause), 1});
    borders.push_back({end, layer_of(cause), -1});
  };
  for (std::size_t i = 0; i < execution.collectives.size(); ++i) {
    const CollectiveTime& times = execution.collectives[i];
    add(times.last_arrival, times.end,
        planned.local_used_map == i ? LossCause::used_map : cause_of_transfer(planned, i));
    if (times.starts.front() < times.last_arrival)
      add(times.starts.front(), times.last_arrival,
          cause_of_waiting_for(planned.schedule.ranks[times.last].rank, job));
  }
  const RankPrograms& programs = planned.schedule.ranks.front();
  for (std::size_t s = 0; s < programs.others.size(); ++s)
    for (std::size_t i = 0; i < programs.others[s].size(); ++i) {
      const Operation& operation = programs.others[s][i];
      const OperationTime& time = execution.ranks.front().others[s][i];
      if (operation.action == Action::work && operation.purpose == OperationKind::host_copy)
        add(time.start, time.end, LossCause::offload);
    }
  std::ranges::sort(borders, {}, &Border::at);
  return borders;
}

}  // namespace

std::vector<CollectiveInterval> collective_intervals(const PlannedStep& planned,
                                                     const Execution& execution, const Job& job) {
  std::vector<CollectiveInterval> intervals;
  std::array<int, kLayers.size()> open{};
  TimePoint from;
  for (const Border& border : borders_of(planned, execution, job)) {
    const auto top = std::ranges::find_if(open, [](int count) { return count > 0; });
    if (top != open.end() && from < border.at) {
      const LossCause cause = kLayers[static_cast<std::size_t>(top - open.begin())];
      if (!intervals.empty() && intervals.back().end == from && intervals.back().cause == cause)
        intervals.back().end = border.at;
      else
        intervals.push_back({from, border.at, cause});
    }
    open[border.layer] += border.change;
    from = border.at;
  }
  return intervals;
}

}  // namespace ddpsim
