// What is not DistributedDataParallel, by the names in a trace, by its groups and by the collectives of a step.
#pragma once

#include <string>

#include "gradient_ready.hpp"
#include "trace_header.hpp"
#include "trace_records.hpp"

namespace ddpsim {

/// How the step's gradients are reduced where no data-parallel all-reduce over all ranks takes them: a sentence
/// that names the schemes which do so. Empty where DDP's reducer does, or torch.compile's nodes, hooks or the
/// script in its place, and where ranks exchange nothing.
std::string other_scheme(const TraceRecords& records, const RecordedStep& step,
                         const TraceHeader& header);

/// The collectives of a step that do not belong to DDP: "6 all-to-alls, 1 all-gather of group tp (4 ranks)".
/// Empty where there are none.
std::string collectives_beside(const RecordedStep& step);

}  // namespace ddpsim
