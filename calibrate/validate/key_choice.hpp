// Decides which key of a text is the step's time.
#pragma once

#include "step_choice.hpp"

namespace ddpsim {

/// The requested key, or else the one that most certainly holds single steps. Throws InputError if
/// there is none, or if several disagree.
const StepKey& choose_key(const StepChoice& choice);

}  // namespace ddpsim
