// What the host did in a recorded step: its launches, their cost, and how host and GPU waited for
// each other.
//
// - launches: Kernels, copies and sets, without NCCL's and DDP's own. A graph counts as one launch.
//   Forward: those launched before backward's first. Backward: for each gradient, those of the
//   autograd thread since the previous gradient, without hooks. Optimizer: those that another
//   thread launches after the last node.
// - cost: Time from a part's first launch to its last (forward: to backward's first), divided by
//   the number of launches. Hooks, data loading and calls in which the GPU held up the host are
//   subtracted.
// - waits: Time in which the GPU was idle because the host had not launched the next activity. It
//   ends when that activity began, or earlier when a launch could have reached an idle GPU. NCCL's
//   kernels of backward do not count as work.
// - held: A call that synchronised, or one that put work on the GPU and took longer than such a
//   call takes by itself.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"
#include "gradient_ready.hpp"

namespace ddpsim {

struct HostRecording {
  Launches launches;           ///< with their cost
  PartTimes launch_waits;      ///< of the GPU
  std::vector<Duration> held;  ///< by gradient, since the step's first launch
};

/// `optimizer_ns` is the start of the optimizer's window.
HostRecording host_recording(const TraceRecords& records, const HostSpan& span,
                             const RecordedStep& step, std::int64_t optimizer_ns);

/// Sentence about the host for the list of what was recognised.
std::string words_for(const HostRecording& host, bool compacted);

}  // namespace ddpsim
