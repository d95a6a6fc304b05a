// A single fault at a moment that a test names or a seed draws (SIMULATED_GPU_FAULT).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "operation.hpp"
#include "settings.hpp"

namespace simulated_gpu {

/// Parses a fault such as "die:1:37". Empty if the text is not a fault.
std::optional<Fault> fault_of(const std::string& text);
std::string text_of(const Fault& fault);

/// Counts of a rank's actions. A fault occurs at one of them.
struct FaultCounts {
  std::int64_t calls;
  std::int64_t allocations;
  std::int64_t collectives;
};
FaultCounts counts_of(int rank);
/// Draws kind, rank and moment among those that a run without faults reached, from the machine's
/// random numbers.
Fault draw_fault(std::span<const FaultCounts> counts);

/// Assigns this thread's calls to a rank, after the thread has chosen a device.
void calls_are_of(int rank);
/// Called at each call of CUDA or NCCL, where a rank may die.
void note_call();
/// The error that CUDA returns instead of doing its work, or success.
cudaError_t error_at_this_call(cudaError_t& sticky);
bool no_memory_at_this_allocation();
/// Called when this rank launches a collective, which may never end or may break its communicator.
void note_collective(Communicator& communicator, Collective& collective, int rank,
                     std::int64_t sequence);
bool never_joins(int rank);
/// The factor by which this thread's rank, and the operations of this device, are slower.
std::int64_t slowness_of_host();
std::int64_t slowness_of_device(int device);

}  // namespace simulated_gpu
