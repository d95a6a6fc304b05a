// Whether a job fits into its GPUs.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/sim/memory/memory.hpp"

namespace ddpsim {

/// The memory that a job needs.
struct CountedMemory {
  PeakMemory peak;
  /// Why there is no answer; absent if there is one.
  std::optional<Diagnostic> problem;
  /// What would make it fit; empty if it fits.
  std::string remedy;
};
/// Counts the memory of a job that can be simulated. Adds a warning if it may not fit.
CountedMemory count_memory(BuiltJob& built);
/// Like count_memory, but throws InputError if there is a problem.
PeakMemory require_memory(BuiltJob& built);

}  // namespace ddpsim
