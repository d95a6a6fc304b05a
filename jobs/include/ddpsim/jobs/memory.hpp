// Whether a job fits into its GPUs.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/sim/memory/memory.hpp"

namespace ddpsim {

/// What a job holds in memory.
struct CountedMemory {
  PeakMemory peak;
  std::optional<Diagnostic> problem;  ///< why there is no answer, where there is none
  std::string remedy;                 ///< with what it would fit; empty where it does
};
/// Of a job that can be simulated; warns where memory may not suffice.
CountedMemory count_memory(BuiltJob& built);
/// A problem is thrown as InputError.
PeakMemory require_memory(BuiltJob& built);

}  // namespace ddpsim
