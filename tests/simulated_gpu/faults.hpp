// What goes wrong, once, at a moment that a test names or a seed draws (SIMULATED_GPU_FAULT).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "operation.hpp"
#include "settings.hpp"

namespace simulated_gpu {

/// "die:1:37"; nothing where it is no fault.
std::optional<Fault> fault_of(const std::string& text);
std::string text_of(const Fault& fault);

/// Of what a rank did so many: a fault comes at one of them.
struct FaultCounts {
  std::int64_t calls;
  std::int64_t allocations;
  std::int64_t collectives;
};
FaultCounts counts_of(int rank);
/// Kind, rank and moment, among those that a run without fault came to. From the machine's own random numbers.
Fault draw_fault(std::span<const FaultCounts> counts);

/// This thread has chosen a device: what it calls from now on is this rank's.
void calls_are_of(int rank);
/// Each call of CUDA or NCCL: where a rank may die.
void note_call();
/// What CUDA answers instead of doing what it is asked; success where nothing is wrong.
cudaError_t error_at_this_call(cudaError_t& sticky);
bool no_memory_at_this_allocation();
/// This rank's launch of a collective: it may never end, or break its communicator.
void note_collective(Communicator& communicator, Collective& collective, int rank,
                     std::int64_t sequence);
bool never_joins(int rank);
/// How much longer all takes for this thread's rank, and for the operations of this device.
std::int64_t slowness_of_host();
std::int64_t slowness_of_device(int device);

}  // namespace simulated_gpu
