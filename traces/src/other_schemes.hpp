// What is not DistributedDataParallel, by the collectives of a step.
#pragma once

#include <string>

#include "gradient_ready.hpp"

namespace ddpsim {

/// How the step's gradients are reduced where DDP's reducer does not all-reduce them: a sentence that names
/// the schemes which do so. Empty where the reducer does, where torch.compile moved its all-reduces into
/// autograd nodes, and where ranks exchange nothing.
std::string other_scheme(const RecordedStep& step);

}  // namespace ddpsim
