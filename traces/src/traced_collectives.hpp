// The collectives of a step, told apart: which all-reduce gradients, who calls them, which serve something else.
// The rules stand in gradient_ready.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gradient_ready.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// The last span of that thread that starts at or before an instant; `spans` are in order of start.
const HostSpan* last_before(const std::vector<HostSpan>& spans, std::int64_t time_ns,
                            std::uint16_t thread);

/// Fills what `step` holds of collectives; its gradients and its backward are there already.
void add_collectives(const TraceRecords& records, const HostSpan& span, RecordedStep& step);

/// Absent where one of them has no size.
std::optional<std::int64_t> elements_of(const std::vector<Collective>& collectives);

/// As many elements as there are gradients or, where sizes are not recorded, as many calls: a loss or a norm
/// that is averaged carries fewer.
bool carry_gradients(const std::vector<Collective>& collectives, const RecordedStep& step);

}  // namespace ddpsim
