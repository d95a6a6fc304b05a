// The CUDA runtime's memory and copies, as far as ddpsim-real uses them. Unsupported requests are
// reported by name.
#include "memory.hpp"

#include <cstdio>
#include <cstring>

#include "cuda_process.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "scheduler.hpp"

using namespace simulated_gpu;

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t size) {
  constexpr int kNaN = 0xFF;  // makes reads of unwritten memory visible
  const Call call(machine().settings.launch_ns);
  *memory = nullptr;
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  const auto bytes = static_cast<std::int64_t>(size);
  std::int64_t& used = machine().allocated[physical_device()];
  if (no_memory_at_this_allocation() || bytes > machine().settings.memory_bytes - used)
    return report(cudaErrorMemoryAllocation);
  used += bytes;
  std::byte* const place = take_memory(bytes);
  tell_of_block_taken(place);
  std::memset(place, kNaN, size);
  process().allocations[place] = {bytes, physical_device()};
  *memory = place;
  return cudaSuccess;
}

/// Allocated where any process finds it, so that any running thread may copy from it.
cudaError_t cudaMallocHost(void** memory, std::size_t size) {
  const Call call(machine().settings.launch_ns);
  *memory = nullptr;
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (no_memory_at_this_allocation()) return report(cudaErrorMemoryAllocation);
  const auto bytes = static_cast<std::int64_t>(size);
  std::byte* const place = take_memory(bytes);
  tell_of_block_taken(place);
  process().allocations[place] = {bytes, kOnHost};
  *memory = place;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  const Call call(machine().settings.launch_ns);
  if (memory == nullptr) return cudaSuccess;
  if (const cudaError_t error = usable_at_the_end(); error != cudaSuccess) return report(error);
  const auto found = process().allocations.find(static_cast<std::byte*>(memory));
  if (found == process().allocations.end() || found->second.device != kOnHost)
    return report(cudaErrorInvalidValue);
  drain_device(physical_device());
  tell_of_block_given(found->first);
  give_memory(found->first, found->second.bytes);
  process().allocations.erase(found);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const Call call(machine().settings.launch_ns);
  if (memory == nullptr) return cudaSuccess;
  if (const cudaError_t error = usable_at_the_end(); error != cudaSuccess) return report(error);
  const auto found = process().allocations.find(static_cast<std::byte*>(memory));
  if (found == process().allocations.end() || found->second.device == kOnHost)
    return report(cudaErrorInvalidValue);
  const auto [place, allocation] = *found;
  drain_device(allocation.device);
  tell_of_block_given(place);
  machine().allocated[allocation.device] -= allocation.bytes;
  give_memory(place, allocation.bytes);
  process().allocations.erase(place);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  const Call call(machine().settings.launch_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  const auto bytes = static_cast<std::int64_t>(size);
  if ((kind == cudaMemcpyDeviceToHost &&
       !allocated({static_cast<std::byte*>(const_cast<void*>(from)), bytes}, physical_device())) ||
      (kind == cudaMemcpyHostToDevice &&
       !allocated({static_cast<std::byte*>(to), bytes}, physical_device())))
    return report(cudaErrorInvalidValue);
  std::memcpy(to, from, size);
  tell_of_copy({static_cast<std::byte*>(const_cast<void*>(from)), bytes},
               {static_cast<std::byte*>(to), bytes});
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Call call(machine().settings.launch_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (size == 0) return cudaSuccess;
  if (kind != cudaMemcpyDefault) {
    std::fprintf(stderr, "simulated GPU: asynchronous copies need cudaMemcpyDefault\n");
    return report(cudaErrorNotSupported);
  }
  Operation operation{};
  operation.kind = Kind::copy;
  operation.call.from = static_cast<const std::byte*>(from);
  operation.call.to = static_cast<std::byte*>(to);
  operation.reads = {static_cast<std::byte*>(const_cast<void*>(from)),
                     static_cast<std::int64_t>(size)};
  operation.writes = {static_cast<std::byte*>(to), static_cast<std::int64_t>(size)};
  operation.moved_bytes = 2 * static_cast<std::int64_t>(size);
  return report(launch(stream, operation));
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t size, cudaStream_t stream) {
  const Call call(machine().settings.launch_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  Operation operation{};
  operation.kind = Kind::set;
  operation.call.to = static_cast<std::byte*>(to);
  operation.call.value = value;
  operation.writes = {static_cast<std::byte*>(to), static_cast<std::int64_t>(size)};
  operation.moved_bytes = static_cast<std::int64_t>(size);
  return report(launch(stream, operation));
}

}  // extern "C"
