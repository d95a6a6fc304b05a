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
/// Counts the memory of a job that can be simulated. Adds a warning where it may not fit.
CountedMemory count_memory(BuiltJob& built);
/// As count_memory; throws InputError where there is a problem.
PeakMemory require_memory(BuiltJob& built);

}  // namespace ddpsim
