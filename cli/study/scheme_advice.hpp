// What `tune` and `advise` say under a scheme without DDP's buckets: its own levers, weighed by the rule that advises any.
#pragma once

#include "ddpsim/jobs/build_job.hpp"
#include "terminal.hpp"
#include "typed_line.hpp"

namespace ddpsim {

/// `command`: "tune", "advise". Throws UsageError where the scheme has no lever, or the command was asked for what only buckets have.
int advise_scheme(BuiltJob& loaded, TypedLine typed, const OutputArguments& output, int threads,
                  const char* command);

}  // namespace ddpsim
