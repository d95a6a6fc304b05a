// Causes that the evidence of both sides rules out: they are no candidates where rows alone, or nothing, would name them.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/diagnose/evidence/evidence.hpp"

namespace ddpsim {

struct ExcludedCause {
  CauseClass what = CauseClass::unknown;
  std::string says;  ///< what rules it out
};

/// Only of what both sides tell: what one of them does not say is not excluded.
std::vector<ExcludedCause> excluded_causes(const Evidence& before, const Evidence& after);

}  // namespace ddpsim
