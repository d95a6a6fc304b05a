// State of the CUDA runtime for a process and a thread, and the checks at the beginning of every
// call.
#pragma once

#include <cuda_runtime_api.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "operation.hpp"

namespace simulated_gpu {

constexpr int kOnHost = -1;

struct Allocation {
  std::int64_t bytes;
  int device;  ///< physical device, or kOnHost for pinned host memory
};

/// Accessed only while holding the machine.
struct Process {
  pid_t initialised_by = 0;  ///< CUDA is unusable after a fork
  cudaError_t sticky = cudaSuccess;
  std::map<std::byte*, Allocation> allocations;
  std::map<const void*, int> kernels;
};
Process& process();

/// Stores the error for cudaGetLastError of this thread.
cudaError_t report(cudaError_t error);
cudaError_t take_last_error();

/// Physical devices in the order of CUDA_VISIBLE_DEVICES. The first missing device hides those
/// after it.
std::vector<int> visible_devices();
/// Chooses this thread's device, by the program's numbering.
void choose_device(int device);

/// The error that prevents any call that needs a device, including calls whose result is unused.
cudaError_t usable_at_the_end();
cudaError_t usable();

/// The allocation that contains the whole range, or null.
const Allocation* allocation_of(const Range& range);
/// Whether the device can access the range: its own memory or the host's pinned memory.
bool allocated(const Range& range, int device);
/// Launches an operation. If it accesses invalid memory, the kernel detects it and all later calls
/// fail.
cudaError_t launch(cudaStream_t stream, const Operation& operation);

}  // namespace simulated_gpu
