// How far the streams of a rank, and the collectives of all ranks, have come while a schedule runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/sim/engine/schedule.hpp"
#include "task.hpp"

namespace ddpsim {

/// Streams of a rank. From kCommunication on: one lane for each collective that may be in flight, then the others.
enum Streams : std::uint32_t { kHost, kCompute, kCommunication };
using StreamId = std::uint32_t;

struct Stream {
  const Operation* program = nullptr;
  OperationTime* times = nullptr;
  std::size_t next = 0;  ///< operation to run or running
  std::size_t end = 0;   ///< of what it runs: the program, or one collective of a lane
  bool entered = false;  ///< its start has been noted
  static constexpr EventId kNoEvent = ~EventId{0};
  EventId waiting_for = kNoEvent;  ///< not yet recorded
};

struct EventState {
  bool reached = false;
  TimePoint at;
};

/// Of thousands of ranks each is looked at for an instant, again and again: what is looked at lies side by side.
struct RankProgress {
  std::span<Stream> streams;
  std::vector<std::size_t> jobs;  ///< where each collective's part of the program begins; its end
  std::vector<std::size_t> next_jobs;  ///< by group: the collective its next free lane takes
  std::span<EventState> events;
  Task compute;
  bool computing = false;
  int channels = 0;  ///< of resident NCCL kernels
};

struct CollectiveState {
  std::size_t arrived = 0;
  Task transfer;  ///< as if alone
  Task volume;    ///< on the links it shares
  int unfinished = 0;
};

/// A collective's part begins with the first wait behind the collective before it; where each begins, and the end.
std::vector<std::size_t> parts_by_collective(const Program& program);

}  // namespace ddpsim
