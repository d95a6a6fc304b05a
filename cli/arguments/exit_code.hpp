#pragma once

namespace ddpsim {

/// Exit codes of the program. They are documented, and scripts depend on them.
enum ExitCode : int {
  kOk = 0,
  kFailure = 1,     ///< disk full, internal error
  kUsage = 2,       ///< wrong command line
  kBadInput = 3,    ///< wrong file or description
  kRegression = 4,  ///< a check found a regression
  kInterrupted = 130,
};

}  // namespace ddpsim
