// A step's execution written down by hand: what was planned for rank 0, and when it happened.
#pragma once

#include <optional>
#include <vector>

#include "small_jobs.hpp"
#include "summary.hpp"

namespace ddpsim::by_hand {

/// A collective of the reducer: [start, last arrival] waits, [last arrival, end] transfers.
struct OnTheWire {
  Duration start;
  Duration last_arrival;
  Duration end;
};

/// What rank 0 did, and what was planned for it.
struct Step {
  PlannedStep planned;
  Execution execution;

  Step() {
    planned.waits_behind_backward = true;
    planned.schedule.ranks.resize(1);
    planned.gradients.resize(1);
    execution.ranks.resize(1);
  }
  static void add(Program& program, std::vector<OperationTime>& times, const Operation& operation,
                  Duration start, Duration end) {
    program.push_back(operation);
    times.push_back({TimePoint(start), TimePoint(end)});
  }
  /// `work` at full speed; absent: it took as long as it says.
  void compute(OperationKind purpose, Duration start, Duration end,
               std::optional<Duration> work = {}, Action action = Action::work) {
    add(planned.schedule.ranks[0].compute, execution.ranks[0].compute,
        {.action = action, .purpose = purpose, .duration = work.value_or(end - start)}, start, end);
  }
  void wire(const OnTheWire& wire) {
    const auto index = static_cast<std::uint32_t>(execution.collectives.size());
    planned.buckets.push_back({.collectives = {index}, .sizes = {Bytes(1000 + index)}});
    planned.collectives.emplace_back();
    planned.schedule.collectives.push_back({.size = Bytes(1000 + index)});
    execution.collectives.push_back({.starts = {TimePoint(wire.start)},
                                     .last_arrival = TimePoint(wire.last_arrival),
                                     .end = TimePoint(wire.end)});
  }
  StepTimes times(const SimulationOptions& options = small::bare()) const {
    return attribute_step(planned, execution, Job({}, small::node(2), options, FreeModel{}));
  }
};

}  // namespace ddpsim::by_hand
