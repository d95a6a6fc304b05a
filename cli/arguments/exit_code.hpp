#pragma once

namespace ddpsim {

/// Stable and documented: scripts depend on them.
enum ExitCode : int {
  kOk = 0,
  kFailure = 1,     ///< ours or the machine's: disk full, internal error
  kUsage = 2,       ///< the command line does not make sense
  kBadInput = 3,    ///< a file or description does not
  kRegression = 4,  ///< a check found one
  kInterrupted = 130,
};

}  // namespace ddpsim
