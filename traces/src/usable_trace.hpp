// Checks that a trace has what a workload needs: one process, GPU activities with their launches,
// operators, gradients.
#pragma once

#include <string>

#include "trace_records.hpp"

namespace ddpsim {

/// Throws InputError, naming `file`, if something is missing. The message says how to record it.
void require_usable(const TraceRecords& records, const std::string& file);
/// `why` is the sign of several processes.
[[noreturn]] void refuse_several_processes(const std::string& file, const std::string& why);

}  // namespace ddpsim
