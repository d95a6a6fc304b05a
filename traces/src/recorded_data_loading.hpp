// How long the trainer waited for its batches, and whether its DataLoader was fast enough.
#pragma once

#include "ddpsim/traces/import.hpp"
#include "step_choice.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// Describes the whole trace, because a single step says little. `compacted`: GPU gaps are left out
/// of the workload's windows.
void describe_data_loading(const TraceRecords& records, const ChosenStep& chosen, bool compacted,
                           Imported& result);

}  // namespace ddpsim
