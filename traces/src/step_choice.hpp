// Chooses the step of a trace that becomes the workload: the requested one, or the complete step
// with the lower median of the backward times.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/traces/import.hpp"
#include "gradient_ready.hpp"
#include "trace_records.hpp"

namespace ddpsim {

struct ChosenStep {
  std::size_t index = 0;  ///< index among the steps of the trace
  RecordedStep step;
  std::vector<StepSample> complete;  ///< all complete steps, including this one
  /// Micro-batches per step. The chosen one is the last of them.
  int accumulate = 1;
  std::optional<EarlierMicroBatches> earlier;  ///< micro-batches before it in its step
  std::vector<std::string> recognised;
  std::vector<std::string> warnings;
};

/// Throws InputError, naming `file`, if no step is complete or the requested step is not.
ChosenStep choose_step(const TraceRecords& records, const ImportOptions& options,
                       const std::string& file);

}  // namespace ddpsim
