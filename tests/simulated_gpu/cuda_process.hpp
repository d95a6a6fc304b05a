// What the CUDA runtime keeps for a process and a thread, and what every call of it begins with.
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
  int device;  ///< physical; kOnHost: pinned memory of the host
};

/// Touched by whoever holds the machine.
struct Process {
  pid_t initialised_by = 0;  ///< after a fork CUDA is of no use
  cudaError_t sticky = cudaSuccess;
  std::map<std::byte*, Allocation> allocations;
  std::map<const void*, int> kernels;
};
Process& process();

/// Kept for cudaGetLastError, by thread.
cudaError_t report(cudaError_t error);
cudaError_t take_last_error();

/// Physical devices in the order of CUDA_VISIBLE_DEVICES; the first that does not exist hides those behind it.
std::vector<int> visible_devices();
/// As the program numbers them; of this thread.
void choose_device(int device);

/// What stands in the way of any call that needs a device; of those, too, whose answer nobody can use.
cudaError_t usable_at_the_end();
cudaError_t usable();

/// Where a range lies, all of it; null: nowhere.
const Allocation* allocation_of(const Range& range);
/// Within what the device reaches: its own memory, and the host's pinned one.
bool allocated(const Range& range, int device);
/// Memory that is not there is found by the kernel, and nothing works from then on.
cudaError_t launch(cudaStream_t stream, const Operation& operation);

}  // namespace simulated_gpu
