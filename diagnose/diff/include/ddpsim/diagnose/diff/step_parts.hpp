// Where a measured step's time went, part by part: every picosecond of the representative rank's step once.
//
//   step = kernels + launch_bound + copies + buffer_broadcast + sync_batchnorm        within forward, backward, optimizer
//        + all_reduce_transfer + slowest_gpu (waits for the last rank) + hooks        behind backward: the exposed tail
//        + input + unexplained                                                        between steps
//
// A step that accumulates gradients holds its earlier micro-batches: their compute is in kernels, their waits for
// all-reduces, which no_sync() was there to avoid, in the transfer, of which they make an upper bound.
//
// Steps that vary: of those recorded the middle half by length, all parts averaged over the same, so that parts still
// sum. What one step alone tells (launches, copies, the broadcast) keeps its share of the window it lies in.
//
// Transfers and waits: a collective that all ranks recorded transfers as long as on the rank where it was shortest, the
// last to arrive; what a rank has beyond that is its wait. Of one rank alone nothing tells the two apart: all of the tail
// may be transfer (an upper bound), and the wait is at least nothing (a lower one). All-reduces follow one another: one that
// begins late because a rank was late ends late, and so do those behind it, even where the wait itself lay behind backward.
// So the tail without waits is that of the same transfers, each begun when this rank was there and the one before it had
// ended; what is beyond it was waiting.
//
// What is not seen is in what holds it: without a count of launches their waits are in kernels; without the loader's
// waits the whole pause between steps may be input (an upper bound).
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

/// The causes of loss (loss.hpp) and two more.
enum class StepPart : std::uint8_t {
  kernels,              ///< the model's own work, what NCCL beside it slows included
  all_reduce_transfer,  ///< behind backward, from the last rank's arrival on
  first_cause           ///< from here on: LossCause, in its order
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
  Duration time;
  Duration low;   ///< what it may be, four times in five, by how steps vary …
  Duration high;  ///< … and by what the evidence cannot tell apart
  Bound bound = Bound::none;
  bool known = false;  ///< false: it is in another part, which holds it
};

/// Of the representative rank, or of another.
struct StepBreakdown {
  Duration step;  ///< mean of the middle half of the steps
  Duration
      error;  ///< of that mean, either way, four times in five; 1 % at least, to which runs repeat
  std::size_t steps =
      0;  ///< whose period is known; 0: the period is not, and the step ends with its optimizer
  std::array<PartTime, kStepParts> parts{};  ///< sum to `step`
  /// Kernels by the part of the step they are of; sum to `kernels`.
  PartTimes kernels;
  /// Between steps, as it is counted: to input, and what is left of it to another part.
  struct Pause {
    Duration input;
    Duration rest;
    StepPart rest_is = part_of(LossCause::unexplained);
  } pause;
  std::optional<int> waited_for;  ///< the rank most of the wait was for
  bool parts_known = false;       ///< false: only the step is

  PartTime& operator[](StepPart part) { return parts[index_of(part)]; }
  const PartTime& operator[](StepPart part) const { return parts[index_of(part)]; }
  PartTime& operator[](LossCause cause) { return (*this)[part_of(cause)]; }
  const PartTime& operator[](LossCause cause) const { return (*this)[part_of(cause)]; }
};

/// Of the rank at `rank` of `workload.ranks`, or of the only one. Absent where nothing of a step was recorded.
std::optional<StepBreakdown> step_breakdown(const Workload& workload, std::size_t rank = 0);
/// Of step times alone, at least one.
StepBreakdown step_alone(const std::vector<Duration>& steps);

/// The same parts under the step as it was timed without a profiler: what the recorded one takes beyond it is unexplained,
/// less than nothing.
StepBreakdown with_unprofiled(StepBreakdown breakdown, const std::vector<Duration>& steps);

/// One all-reduce of a step as the ranks recorded it.
struct RankCollectiveTimes {
  std::size_t step = 0;             ///< of the steps that all of them recorded
  std::vector<Duration> starts;     ///< by rank, each on a clock of its own
  std::vector<Duration> durations;  ///< by rank
  Duration transfer() const;        ///< the shortest
  std::size_t last() const;         ///< position of the rank where it was shortest
  std::vector<Duration> waits() const;
};
/// Of every step that all ranks recorded with the same all-reduces; else of the representative one.
std::vector<RankCollectiveTimes> rank_collective_times(const Workload& workload);
/// All ranks of the job are there: the last to arrive is among them.
bool all_ranks_there(const Workload& workload);

}  // namespace ddpsim
