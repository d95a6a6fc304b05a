// Gradient accumulation: which steps of a trace are micro-batches, and how many of them make a
// step.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ddpsim {

/// What one complete step of a trace shows about accumulation.
struct PassEvidence {
  std::size_t step = 0;  ///< index among the steps of the trace
  /// Whether the step's gradients were all-reduced, so it did not run under no_sync().
  bool reduced = false;
  bool optimized = false;  ///< the optimizer ran
};

struct MicroBatches {
  /// For each pass, whether it is the last of its step, the one that all-reduces. All are true
  /// without accumulation.
  std::vector<bool> last;
  int count = 1;  ///< micro-batches per step
  /// Micro-batches per step if each one all-reduces, although the optimizer runs only in the last;
  /// `count` is 1 then.
  int all_reduced = 0;
  std::string recognised;  ///< for the user; may be empty
  std::string warning;     ///< may be empty
};

/// Finds the micro-batches. If some steps all-reduce, the others are micro-batches. If none does,
/// micro-batches are the steps without an optimizer step, provided that optimizer steps come
/// regularly. A gradient scaler that skips a step breaks this regularity.
MicroBatches micro_batches(const std::vector<PassEvidence>& passes);

}  // namespace ddpsim
