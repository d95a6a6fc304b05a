// What a recorded step says of how its gradients were all-reduced: by DDP's reducer or something in its place,
// behind which hook, beside which other collectives.
#pragma once

#include "ddpsim/traces/import.hpp"
#include "gradient_ready.hpp"

namespace ddpsim {

void note_reduction(const RecordedStep& step, Imported& imported);

}  // namespace ddpsim
