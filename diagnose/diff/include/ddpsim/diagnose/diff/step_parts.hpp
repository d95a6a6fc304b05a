// How a measured step spent its time, part by part. Every picosecond of the representative rank's
// step is counted once.
//
//   step = kernels + launch_bound + copies + buffer_broadcast + sync_batchnorm        within forward, backward, optimizer
//        + all_reduce_transfer + slowest_gpu (waits for the last rank) + hooks        after backward: the exposed tail
//        + input + unexplained                                                        between steps
//
// A step that accumulates gradients includes its earlier micro-batches. Their compute is in
// kernels. Their waits for all-reduces, which no_sync() should avoid, are in the transfer and make
// it an upper bound.
//
// If steps vary, all parts are averaged over the middle half of the recorded steps by length, so
// that they still sum. Parts that only one step shows (launches, copies, the broadcast) keep their
// share of the window that contains them.
//
// Transfers and waits: the transfer of a collective recorded on all ranks is its time on the rank
// where it was shortest, the last to arrive. Any further time on a rank is its wait. One rank alone
// cannot tell the two apart: the whole tail may be transfer (an upper bound), and the wait is at
// least zero (a lower bound).
//
// All-reduces follow one another. One that begins late because a rank was late ends late, and so do
// the next ones, even if the wait itself was hidden by backward. So the tail without waits is that
// of the same transfers, where each begins once this rank is ready and the previous one has ended.
// The rest of the tail was waiting.
//
// Time that is not visible is counted in the part that contains it. Without a count of launches,
// waits for them are in kernels. Without the loader's waits, the whole pause between steps may be
// input (an upper bound).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/step/loss.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// The causes of loss (loss.hpp), and two more.
enum class StepPart : std::uint8_t {
  /// The model's own work, including its slowdown by NCCL.
  kernels,
  /// After backward, from the last rank's arrival on.
  all_reduce_transfer,
  first_cause  ///< from here on: LossCause, in its order
};
inline constexpr std::size_t kStepParts =
    static_cast<std::size_t>(StepPart::first_cause) + kLossCauses;
constexpr StepPart part_of(LossCause cause) {
  return static_cast<StepPart>(static_cast<std::size_t>(StepPart::first_cause) +
                               static_cast<std::size_t>(cause));
}
constexpr std::size_t index_of(StepPart part) {
  return static_cast<std::size_t>(part);
}
std::string_view name_of(StepPart part);  ///< "kernels", "all_reduce_transfer", or the cause's
constexpr std::array<StepPart, kStepParts> all_step_parts() {
  std::array<StepPart, kStepParts> parts{};
  for (std::size_t i = 0; i < kStepParts; ++i) parts[i] = static_cast<StepPart>(i);
  return parts;
}

enum class Bound : std::uint8_t { none, upper, lower };

struct PartTime {
  // `low` to `high` is the 80 % interval, from how steps vary and what the evidence cannot tell
  // apart.
  Duration time;
  Duration low;
  Duration high;
  Bound bound = Bound::none;
  /// False: the time is counted in the part that contains it.
  bool known = false;
};

/// For the representative rank, or for another one.
struct StepBreakdown {
  Duration step;  ///< mean of the middle half of the steps
  /// Half width of the 80 % interval of that mean; at least the 1 % to which runs repeat.
  Duration error;
  /// Number of steps with a known period. 0: no period is known, and the step ends with its
  /// optimizer.
  std::size_t steps = 0;
  std::array<PartTime, kStepParts> parts{};  ///< sum to `step`
  /// Kernels by the part of the step they belong to; they sum to `kernels`.
  PartTimes kernels;
  /// How the time between steps is counted: as input, and the rest as another part.
  struct Pause {
    Duration input;
    Duration rest;
    StepPart rest_is = part_of(LossCause::unexplained);
  } pause;
  std::optional<int> waited_for;  ///< the rank that caused most of the wait
  /// Whether the time of each part is known. False: only the time of the whole step is known.
  bool parts_known = false;

  PartTime& operator[](StepPart part) { return parts[index_of(part)]; }
  const PartTime& operator[](StepPart part) const { return parts[index_of(part)]; }
  PartTime& operator[](LossCause cause) { return (*this)[part_of(cause)]; }
  const PartTime& operator[](LossCause cause) const { return (*this)[part_of(cause)]; }
};

/// For the rank at index `rank` of `workload.ranks`, or for the only one. Absent if no part of a
/// step was recorded.
std::optional<StepBreakdown> step_breakdown(const Workload& workload, std::size_t rank = 0);
/// The breakdown of a step of which only step times are known; at least one time.
StepBreakdown step_alone(const std::vector<Duration>& steps);

/// Replaces the time of the whole step by step times without a profiler and keeps the recorded
/// parts. What the profiler added to the step appears as a negative unexplained part.
StepBreakdown with_unprofiled(StepBreakdown breakdown, const std::vector<Duration>& steps);

/// One all-reduce of a step as the ranks recorded it.
struct RankCollectiveTimes {
  std::size_t step = 0;             ///< among the steps that all of them recorded
  std::vector<Duration> starts;     ///< by rank, each on its own clock
  std::vector<Duration> durations;  ///< by rank
  Duration transfer() const;        ///< the shortest
  std::size_t last() const;         ///< index of the rank where it was shortest
  std::vector<Duration> waits() const;
};
/// For every step that all ranks recorded with the same all-reduces; otherwise for the
/// representative step.
std::vector<RankCollectiveTimes> rank_collective_times(const Workload& workload);
/// Whether all ranks of the job were recorded, so that the last to arrive is one of them.
bool all_ranks_there(const Workload& workload);

}  // namespace ddpsim
