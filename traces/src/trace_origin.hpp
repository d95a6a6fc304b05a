// Origin of a trace: GPU, versions and ranks, and anything unusual about the recording as a whole.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/traces/import.hpp"
#include "trace_header.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// Size of the largest process group, a lower bound for the world size. Absent if no collective
/// names the size of its group.
std::optional<int> ranks_of_largest_group(const TraceRecords& records);

struct TraceOrigin {
  const TraceRecords& records;
  const TraceHeader& header;
  const std::string& file;
  const std::string& asked_gpu;  ///< the user's word; may be empty
  bool world_of_group = false;   ///< the trace does not state the world size
};

void describe_origin(const TraceOrigin& origin, Imported& result);

}  // namespace ddpsim
