// What the growth of a row may mean, and what would tell its possible causes apart. The reverse is
// lengthened_by() in slowdown_causes.hpp: the rows that a class of findings can lengthen.
#pragma once

#include <span>
#include <string_view>

#include "ddpsim/diagnose/diff/slowdown_causes.hpp"

namespace ddpsim {

/// A possible cause of a row's growth, and what tells it from the row's other causes.
struct PossibleCause {
  CauseClass what;
  std::string_view decide_by;
};

/// Possible causes of a row, most frequent first. `tail_alone`: only one rank was recorded, so
/// transfer and wait cannot be told apart.
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
    "a trace of one step of both, from torch.profiler (CPU and CUDA) or the recorder: it splits "
    "the step into kernels, launches, all-reduces and input";

/// What to measure for a late rank whose own input takes longer than that of the others.
constexpr std::string_view kDecidesLateInput =
    "swap the batches of the late rank and another rank. Lateness that moves with the batches "
    "comes from the data, otherwise from the loader or the host";

}  // namespace ddpsim
