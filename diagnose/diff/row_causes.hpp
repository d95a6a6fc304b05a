// What a row of a difference that grew may mean, and what would tell one such cause from the others. lengthened_by() in
// slowdown_causes.hpp is the other way round: the rows that a class of findings can lengthen.
#pragma once

#include <span>
#include <string_view>

#include "ddpsim/diagnose/diff/slowdown_causes.hpp"

namespace ddpsim {

/// A class that a row may mean, and what tells it from the others of that row.
struct PossibleCause {
  CauseClass what;
  std::string_view decide_by;
};

/// What the row may mean, the most frequent first. `tail_alone`: one rank was recorded, which tells no transfer from a wait.
std::span<const PossibleCause> causes_of_row(StepPart part, bool on_cpu, bool tail_alone);
/// The slow rank comes first, uneven data last.
std::span<const PossibleCause> causes_of_waits();

constexpr StepPart kTransfer = StepPart::all_reduce_transfer;
constexpr StepPart kKernels = StepPart::kernels;
constexpr StepPart kLaunches = part_of(LossCause::launch_bound);
constexpr StepPart kWaits = part_of(LossCause::slowest_gpu);
constexpr StepPart kCopies = part_of(LossCause::copies);
constexpr StepPart kHooks = part_of(LossCause::hooks);
constexpr StepPart kBroadcast = part_of(LossCause::buffer_broadcast);
constexpr StepPart kInput = part_of(LossCause::input);
constexpr StepPart kUsedMap = part_of(LossCause::used_map);
constexpr StepPart kSyncBatchNorm = part_of(LossCause::sync_batchnorm);
constexpr StepPart kUnexplained = part_of(LossCause::unexplained);

constexpr std::string_view kTraces =
    "a trace of one step of both by torch.profiler (CPU and CUDA activities), or the recorder: it "
    "splits the step into kernels, launches, all-reduces and input";

/// What decides about a late rank whose own input is the longest beside the others'.
constexpr std::string_view kDecidesLateInput =
    "the late rank's batches on another rank, and that one's on it: lateness that goes with the "
    "batches is the data's, lateness that stays its loader's or its host's";

}  // namespace ddpsim
