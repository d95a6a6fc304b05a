// Recognises other schemes than DistributedDataParallel, by names in a trace, process groups and
// the collectives of a step.
#pragma once

#include <string>

#include "gradient_ready.hpp"
#include "trace_header.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// A sentence that names the scheme which reduces the step's gradients, if that is no data-parallel
/// all-reduce over all ranks. Empty if DDP's reducer reduces them, or torch.compile's nodes, hooks
/// or the script do so instead. Also empty if ranks exchange nothing.
std::string other_scheme(const TraceRecords& records, const RecordedStep& step,
                         const TraceHeader& header);

/// The collectives of a step that do not belong to DDP: "6 all-to-alls, 1 all-gather of group tp (4
/// ranks)". Empty if there are none.
std::string collectives_beside(const RecordedStep& step);

}  // namespace ddpsim
