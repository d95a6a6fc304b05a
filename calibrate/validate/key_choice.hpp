// Which key of a text is the step's time.
#pragma once

#include "step_choice.hpp"

namespace ddpsim {

/// The one that is asked for, else the one that says most certainly that it is of single steps. Throws InputError where none is,
/// or several are and do not agree.
const StepKey& choose_key(const StepChoice& choice);

}  // namespace ddpsim
