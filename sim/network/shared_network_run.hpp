// The collectives of one schedule over time, on a network with background traffic that continues
// between them. A stream has one transfer at a time, and only transfers and background use the
// links. So the network may run ahead to the end of each transfer. (A transfer that compute slows
// down, or an uncertainty scales, occupies its links no longer than this.)
//
// Most of the time at most one pipeline is under way. Alone it always takes the same time, so it is
// skipped, as often as it repeats before another begins. Links are only simulated while pipelines
// overlap, from the first of them until nothing is under way. Such a meeting is folded
// (folded_network.hpp). If a shape joins that it was not folded for, it is simulated again from its
// beginning, with less that is alike. Neither changes an end by a picosecond.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ddpsim/sim/engine/schedule.hpp"
#include "ddpsim/sim/values/cost_factors.hpp"
#include "flow_network.hpp"
#include "flow_planner.hpp"

namespace ddpsim {

class SharedNetworkRun {
 public:
  /// `choices` is by collective. `planner` must outlive the run.
  SharedNetworkRun(FlowPlanner& planner, std::span<const ScheduledCollective> collectives,
                   std::span<const std::optional<CollectiveChoice>> choices,
                   CostFactors factors = {});

  /// Time from the last arrival to the end. Must be called in the order of time.
  Duration transfer(std::size_t collective, TimePoint last_arrival);

 private:
  struct Start {
    std::size_t collective;
    TimePoint at;
  };
  /// Pipelines that overlap.
  struct Meeting {
    std::vector<std::optional<TimePoint>> due;  ///< when it began
    std::vector<const PipelineShape*> shapes;   ///< of own pipelines that may join
    std::vector<Start> starts;                  ///< of own pipelines
    std::vector<std::size_t> places;            ///< by collective, among job 0's pipelines
    std::optional<FlowNetwork> network;         ///< job 0 is the own one
  };

  TimePoint run(std::size_t collective, TimePoint start);
  void advance(TimePoint until, const PipelineShape& next);
  bool skip(TimePoint until);
  void meet(const PipelineShape& shape);
  void simulate_again();
  TimePoint join(const Start& start);

  FlowPlanner& planner_;
  std::vector<std::optional<PlannedTransfer>> own_;  ///< by collective, if the fabric has channels
  std::vector<Duration> modelled_;                   ///< by collective, if not
  /// Fixed part of the cost model's time, before scaling.
  std::vector<Duration> fixed_;
  std::vector<Duration> least_;
  CostFactors factors_;
  /// By background job, while there is no meeting: when it starts next. Absent: never again.
  std::vector<std::optional<TimePoint>> due_;
  std::optional<Meeting> meeting_;
  TimePoint now_ = TimePoint() - Duration::max();
};

}  // namespace ddpsim
