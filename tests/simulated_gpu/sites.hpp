// Places in the program that synchronise, told apart by who calls whom; one of them can be left out, to see whether a test
// notices.
//
//   SIMULATED_GPU_SITES=FILE   each place that was reached is written there once: "HASH CALL OFFSET OFFSET …"
//   SIMULATED_GPU_SKIP=HASH    this one does nothing
#pragma once

namespace simulated_gpu {

/// True: leave it out.
bool skipped(const char* call);

}  // namespace simulated_gpu
