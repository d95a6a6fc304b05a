// How long the trainer waited for its batches, and whether its DataLoader kept up.
#pragma once

#include "ddpsim/traces/import.hpp"
#include "step_choice.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// Over the whole trace: one step's says little. `compacted`: gaps of the GPU are left out of the workload's windows.
void describe_data_loading(const TraceRecords& records, const ChosenStep& chosen, bool compacted,
                           Imported& result);

}  // namespace ddpsim
