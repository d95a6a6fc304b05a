// ddpsim.error/1: what `--json` prints where there is no answer.
#pragma once

#include <string>

#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {

/// Why there is no answer; each has an exit code of its own.
enum class ErrorCode {
  failure,   ///< of the program or the machine: disk full, no memory
  usage,     ///< the command line does not make sense
  bad_input  ///< a file or description does not
};
const char* name_of(ErrorCode code);

struct ErrorReport {
  ErrorCode code = ErrorCode::failure;
  Diagnostic diagnostic;
};

std::string error_json(const ErrorReport& report);

}  // namespace ddpsim
