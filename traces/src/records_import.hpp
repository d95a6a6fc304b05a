// Makes a workload from launches, GPU activities and autograd nodes, whatever recorded them.
#pragma once

#include <string>

#include "ddpsim/traces/import.hpp"
#include "trace_header.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// `records` are finished and hold activities and gradients. Throws InputError.
Imported import_records(TraceRecords records, const TraceHeader& header, const std::string& file,
                        const ImportOptions& options);

}  // namespace ddpsim
