// What the host did in a recorded step: what it launched, what that took it, and how host and GPU waited for each other.
//
//   launches   kernels, copies and sets but NCCL's and DDP's own: of forward those launched before backward's first; of
//              backward, for each gradient, those of the autograd thread since the one before, its hooks left out; of the
//              optimizer those another thread launches after the last node. A graph is launched once.
//   cost       of one of them: from the part's first launch to its last (of forward: to backward's first), without hooks,
//              data loading and calls in which the GPU held the host up, by their number
//   waits      the GPU had nothing to do (NCCL's kernels of backward run beside it), and the host had yet to launch what
//              came next; until that began, or the time a launch takes to reach an idle GPU had passed
//   held       a call that synchronised, or put work on the GPU and took longer than any does by itself
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

/// `optimizer_ns`: when the optimizer's window begins.
HostRecording host_recording(const TraceRecords& records, const HostSpan& span,
                             const RecordedStep& step, std::int64_t optimizer_ns);

/// As a line of what was recognised.
std::string words_for(const HostRecording& host, bool compacted);

}  // namespace ddpsim
