// Data kept for every complete step of a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ddpsim/sim/values/workload.hpp"
#include "gradient_ready.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// Time from `from_ns` to `to_ns` on the trace's clock.
Duration span(std::int64_t from_ns, std::int64_t to_ns);

/// The reducer's collectives, on the clock of its backward. Empty if any of them lacks its size.
std::vector<RecordedCollective> recorded_collectives(const RecordedStep& step);

StepSample sample_of(const TraceRecords& records, std::size_t index, const RecordedStep& step);

}  // namespace ddpsim
