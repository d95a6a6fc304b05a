// Where a trace comes from: GPU, versions and ranks, and what is odd about the recording as a whole.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/traces/import.hpp"
#include "trace_header.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// No group has more ranks than the job. Absent where no collective names the size of its group.
std::optional<int> ranks_of_largest_group(const TraceRecords& records);

struct TraceOrigin {
  const TraceRecords& records;
  const TraceHeader& header;
  const std::string& file;
  const std::string& asked_gpu;  ///< as the user names it; may be empty
  bool world_of_group = false;   ///< the trace does not state the world size itself
};

void describe_origin(const TraceOrigin& origin, Imported& result);

}  // namespace ddpsim
