// The program's kernels, by the names they register under; their bodies are its own.
#pragma once

#include <cstdint>
#include <optional>

#include "operation.hpp"

namespace simulated_gpu {

/// Index of a kernel by its mangled name; absent where nobody wrote down how to run it.
std::optional<int> kernel_named(const char* mangled);
/// What a launch reads, writes and is told.
Operation kernel_operation(int kernel, void** arguments);
/// Does it; how long it waited by the clock, 0 where it does not look at one.
std::int64_t run_kernel(const KernelCall& call);

}  // namespace simulated_gpu
