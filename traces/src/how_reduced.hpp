// How a recorded step all-reduced its gradients: by DDP's reducer or by something else, with which
// communication hook, and together with which other collectives.
#pragma once

#include "ddpsim/traces/import.hpp"
#include "gradient_ready.hpp"

namespace ddpsim {

void note_reduction(const RecordedStep& step, Imported& imported);

}  // namespace ddpsim
