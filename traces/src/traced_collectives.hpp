// Sorts the collectives of a step: which ones all-reduce gradients, who calls them, and which have
// another purpose. gradient_ready.hpp explains the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gradient_ready.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// The last span of this thread that starts at or before `time_ns`. `spans` are in order of start.
const HostSpan* last_before(const std::vector<HostSpan>& spans, std::int64_t time_ns,
                            std::uint16_t thread);

/// Fills the fields of `step` about collectives. Its gradients and its backward must be set.
void add_collectives(const TraceRecords& records, const HostSpan& span, RecordedStep& step);

/// Absent if one of them has no size.
std::optional<std::int64_t> elements_of(const std::vector<Collective>& collectives);

/// Whether the collectives carry as many elements as there are gradients. Without recorded sizes,
/// the number of calls must match instead. An averaged loss or norm carries fewer.
bool carry_gradients(const std::vector<Collective>& collectives, const RecordedStep& step);

}  // namespace ddpsim
