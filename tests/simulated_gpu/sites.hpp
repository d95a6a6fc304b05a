// Places in the program that synchronise, told apart by who calls whom; one of them can be left out, to see whether a test
// notices (SIMULATED_GPU_SKIP, seeds.cpp).
#pragma once

namespace simulated_gpu {

/// True: leave it out.
bool skipped(const char* call);

}  // namespace simulated_gpu
