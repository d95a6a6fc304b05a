// Progress of the streams of a rank, and of the collectives of all ranks, while a schedule runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/sim/engine/schedule.hpp"
#include "task.hpp"

namespace ddpsim {

/// Streams of a rank. From kCommunication on there is one lane for each collective that may be in
/// flight, then the other streams.
enum Streams : std::uint32_t { kHost, kCompute, kCommunication };
using StreamId = std::uint32_t;

struct Stream {
  const Operation* program = nullptr;
  OperationTime* times = nullptr;
  std::size_t next = 0;  ///< operation that runs or runs next
  std::size_t end = 0;   ///< of the program, or of a lane's collective
  bool entered = false;  ///< its start has been noted
  static constexpr EventId kNoEvent = ~EventId{0};
  EventId waiting_for = kNoEvent;  ///< not recorded yet
};

struct EventState {
  bool reached = false;
  TimePoint at;
};

/// Hot per-rank state, stored contiguously: the loop scans thousands of ranks per event.
struct RankProgress {
  std::span<Stream> streams;
  /// Where each collective's part of the program begins, and then the program's end.
  std::vector<std::size_t> jobs;
  /// For each group, the collective that its next free lane takes.
  std::vector<std::size_t> next_jobs;
  std::span<EventState> events;
  Task compute;
  bool computing = false;
  int channels = 0;  ///< of resident NCCL kernels
};

struct CollectiveState {
  std::size_t arrived = 0;
  Task transfer;  ///< as if it were alone
  Task volume;    ///< on the links that it shares
  int unfinished = 0;
};

/// Positions at which the parts of the collectives begin, followed by the end of the program. A
/// part begins with the first wait after the collective before it.
std::vector<std::size_t> parts_by_collective(const Program& program);

}  // namespace ddpsim
