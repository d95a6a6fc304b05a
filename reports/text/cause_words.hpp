// Causes of a changed step time, in words. JSON has their classes.
#pragma once

#include <string>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

/// Whether the step got longer or shorter.
enum class StepChange { longer, shorter };

/// The beginning of a sentence: "The network is slower", or "The network is faster" if the step got
/// shorter.
std::string cause_words(CauseClass what, StepChange change);

}  // namespace ddpsim
