// How busy a step's all-reduces of buckets keep the wires, and how many buckets wait, instant by instant. What each moves is
// spread evenly over its transfer: averages, which where several share their links may add up to more than these carry.
// Broadcasts, exchanged statistics, the used map and background traffic are not counted.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// What a counter stands at until the next.
struct CounterLevel {
  TimePoint from;
  std::int64_t value = 0;
  bool operator==(const CounterLevel&) const = default;
};

/// By time, each unlike the one before; the last is 0. Empty: never anything else.
using CounterLevels = std::vector<CounterLevel>;

struct StepCounters {
  CounterLevels buckets_waiting;  ///< ready, and not started
  CounterLevels bytes_in_flight;  ///< of buckets whose transfer has begun and not ended
  CounterLevels
      bus_bandwidth;  ///< bytes per second, as nccl-tests counts them: 2(n-1)/n * size over time
  /// By LinkKind: tenths of a percent of its nominal rate that the busiest link carries (link_loads.hpp), where NCCL chose rings
  /// or trees and the wires are known.
  std::array<CounterLevels, kLinkKinds> link_load;
};

/// Of the job's own buckets, rank 0's instants.
StepCounters step_counters(const std::vector<BucketResult>& buckets, const Job& job);

}  // namespace ddpsim
