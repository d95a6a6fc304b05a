// Which step of a trace becomes the workload: the one asked for, else the complete one whose
// backward is the lower median.
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
  std::size_t index = 0;  ///< among the steps of the trace
  RecordedStep step;
  std::vector<StepSample> complete;  ///< every complete step, this one among them
  int accumulate = 1;  ///< micro-batches of a step; the one chosen is the last of them
  std::optional<EarlierMicroBatches> earlier;  ///< of its step
  std::vector<std::string> recognised;
  std::vector<std::string> warnings;
};

/// Throws InputError, naming `file`, where no step is complete or the one asked for is not.
ChosenStep choose_step(const TraceRecords& records, const ImportOptions& options,
                       const std::string& file);

}  // namespace ddpsim
