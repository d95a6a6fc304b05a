// Places in the program that synchronise, identified by the call and its callers. One of them can
// be omitted, to check whether a test notices (SIMULATED_GPU_SKIP, seeds.cpp).
#pragma once

namespace simulated_gpu {

/// Whether to omit this call.
bool skipped(const char* call);

}  // namespace simulated_gpu
