// ddpsim.error/1: what `--json` prints if a command has no answer.
#pragma once

#include <string>

#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {

/// Why a command has no answer.
struct ErrorReport {
  int exit_code = 1;  ///< 1, 2 or 3
  Diagnostic diagnostic;
};

std::string error_json(const ErrorReport& report);

}  // namespace ddpsim
