// Whether a trace has what a workload is made of: one process, GPU activities with their launches, operators, gradients.
#pragma once

#include <string>

#include "trace_records.hpp"

namespace ddpsim {

/// Throws InputError, naming `file`, where something is missing, and says how to record it.
void require_usable(const TraceRecords& records, const std::string& file);
/// `why`: what shows that there are several.
[[noreturn]] void refuse_several_processes(const std::string& file, const std::string& why);

}  // namespace ddpsim
