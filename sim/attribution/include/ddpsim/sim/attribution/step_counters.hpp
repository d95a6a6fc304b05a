// How busy the all-reduces of a step's buckets keep the links, and how many buckets wait, over
// time. The bytes of each all-reduce are spread evenly over its transfer. These are averages: if
// several share their links, they may add up to more than the links carry. Broadcasts, exchanged
// statistics, the used map and background traffic are not counted.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Value of a counter from this time until the next level.
struct CounterLevel {
  TimePoint from;
  std::int64_t value = 0;
  bool operator==(const CounterLevel&) const = default;
};

/// Ordered by time, each value different from the one before; the last one is 0. Empty if the
/// counter is always 0.
using CounterLevels = std::vector<CounterLevel>;

struct StepCounters {
  CounterLevels buckets_waiting;  ///< ready but not started
  /// Bytes of the buckets that are being transferred.
  CounterLevels bytes_in_flight;
  /// Bytes per second, as nccl-tests counts them: 2(n-1)/n * size over time.
  CounterLevels bus_bandwidth;
  /// By LinkKind: load of the busiest link, in tenths of a percent of its nominal rate
  /// (link_loads.hpp). Only if NCCL chose rings or trees and the links are known.
  std::array<CounterLevels, kLinkKinds> link_load;
};

/// Counters of the job's own buckets, with rank 0's times.
StepCounters step_counters(const std::vector<BucketResult>& buckets, const Job& job);

}  // namespace ddpsim
