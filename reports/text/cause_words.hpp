// Causes of a step of another length as people say them; JSON has their classes.
#pragma once

#include <string>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

/// What became of the step whose cause is asked for.
enum class StepChange { longer, shorter };

/// The beginning of a sentence: "The network is slower", or "faster" where the step got shorter.
std::string cause_words(CauseClass what, StepChange change);

}  // namespace ddpsim
