// The operations of a program, one function each.
#pragma once

#include <cstdint>

#include "ddpsim/sim/engine/schedule.hpp"

namespace ddpsim {

/// Appends nothing if `duration` is zero.
inline void append_work(Program& program, OperationKind purpose, Duration duration,
                        std::int32_t bucket = -1) {
  if (duration > Duration())
    program.push_back(
        {.action = Action::work, .purpose = purpose, .bucket = bucket, .duration = duration});
}

inline void append_record(Program& program, OperationKind purpose, EventId event) {
  program.push_back({.action = Action::record, .purpose = purpose, .event = event});
}

/// Continues `latency` after the event. `collective` is the one whose end the event marks, if any
/// caller needs it.
inline void append_wait(Program& program, OperationKind purpose, EventId event, Duration latency,
                        std::uint32_t collective = 0) {
  program.push_back({.action = Action::wait,
                     .purpose = purpose,
                     .duration = latency,
                     .event = event,
                     .collective = collective});
}

inline void append_wait_until(Program& program, OperationKind purpose, Duration after_time_zero,
                              std::int32_t bucket = -1) {
  program.push_back({.action = Action::wait_until,
                     .purpose = purpose,
                     .bucket = bucket,
                     .duration = after_time_zero});
}

/// `index` is an index into Schedule::collectives.
inline void append_collective(Program& program, OperationKind purpose, std::uint32_t index,
                              std::int32_t bucket = -1) {
  program.push_back(
      {.action = Action::collective, .purpose = purpose, .bucket = bucket, .collective = index});
}

}  // namespace ddpsim
