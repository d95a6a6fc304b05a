// The answer of `tune` and `advise` for a scheme without DDP's buckets: which of the scheme's own settings to change.
#pragma once

#include "ddpsim/jobs/build_job.hpp"
#include "terminal.hpp"
#include "typed_line.hpp"

namespace ddpsim {

/// Runs `command` ("tune" or "advise") and returns the exit code. Throws UsageError if the scheme has no settings to advise on, or if
/// an output needs buckets.
int advise_scheme(BuiltJob& loaded, TypedLine typed, const OutputArguments& output, int threads,
                  const char* command);

}  // namespace ddpsim
