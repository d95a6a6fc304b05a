// Causes that the evidence of both sides rules out. They are not candidates for rows, nor if
// nothing else names a cause.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/diagnose/evidence/evidence.hpp"

namespace ddpsim {

struct ExcludedCause {
  CauseClass what = CauseClass::unknown;
  std::string says;  ///< what rules it out
};

/// Uses only what both sides tell. What one side does not say is not excluded.
std::vector<ExcludedCause> excluded_causes(const Evidence& before, const Evidence& after);

}  // namespace ddpsim
