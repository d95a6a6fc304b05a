// Gradient accumulation: which steps of a trace are micro-batches, and how many make a step.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ddpsim {

/// One complete step of a trace, as far as accumulation shows.
struct PassEvidence {
  std::size_t step = 0;    ///< among the steps of the trace
  bool reduced = false;    ///< its gradients were all-reduced: it did not run under no_sync()
  bool optimized = false;  ///< the optimizer ran
};

struct MicroBatches {
  std::vector<bool>
      last;  ///< of its step, by evidence: the one that all-reduces; all true without accumulation
  int count = 1;  ///< of a step
  int all_reduced =
      0;  ///< of a step, where each of them all-reduces though the optimizer runs in the last alone; `count` is 1 then
  std::string recognised;  ///< for the user; may be empty
  std::string warning;     ///< may be empty
};

/// Where some steps all-reduce, those that do not are micro-batches; where none does, those without an optimizer step,
/// if the optimizer comes regularly (a gradient scaler that skips a step does not).
MicroBatches micro_batches(const std::vector<PassEvidence>& passes);

}  // namespace ddpsim
