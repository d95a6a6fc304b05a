// The program's kernels, by their registered names. The bodies are the program's own.
#pragma once

#include <cstdint>
#include <optional>

#include "operation.hpp"

namespace simulated_gpu {

/// Index of a kernel by its mangled name. Empty if the kernel is not listed.
std::optional<int> kernel_named(const char* mangled);
/// The memory and the arguments of a launch.
Operation kernel_operation(int kernel, void** arguments);
/// Runs the kernel. Returns how long it waited by the clock, or 0 if it reads no clock.
std::int64_t run_kernel(const KernelCall& call);

}  // namespace simulated_gpu
