#include "cuda_process.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "devices.hpp"
#include "faults.hpp"

namespace simulated_gpu {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

}  // namespace

Process& process() {
  static Process one;
  return one;
}

cudaError_t report(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t take_last_error() {
  const cudaError_t last = std::exchange(last_error, cudaSuccess);
  return process().sticky != cudaSuccess ? process().sticky : last;
}

void choose_device(int device) {
  current_device = device;
}

int physical_device() {
  return visible_devices()[static_cast<std::size_t>(current_device)];
}

std::vector<int> visible_devices() {
  const int physical = machine().settings.devices;
  std::vector<int> devices;
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) {
    for (int i = 0; i < physical; ++i) devices.push_back(i);
    return devices;
  }
  while (*text != '\0') {
    char* end = nullptr;
    const long device = std::strtol(text, &end, 10);
    if (end == text || device < 0 || device >= physical) break;
    devices.push_back(static_cast<int>(device));
    text = *end == ',' ? end + 1 : end;
  }
  return devices;
}

cudaError_t usable_at_the_end() {
  Process& own = process();
  if (own.initialised_by == 0) own.initialised_by = getpid();
  if (own.initialised_by != getpid()) return cudaErrorInitializationError;
  if (own.sticky != cudaSuccess) return own.sticky;
  return visible_devices().empty() ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t usable() {
  const cudaError_t error = usable_at_the_end();
  return error != cudaSuccess ? error : error_at_this_call(process().sticky);
}

const Allocation* allocation_of(const Range& range) {
  const auto& allocations = process().allocations;
  auto after = allocations.upper_bound(range.begin);
  if (after == allocations.begin()) return nullptr;
  const auto& [begin, allocation] = *--after;
  return range.begin + range.bytes <= begin + allocation.bytes ? &allocation : nullptr;
}

bool allocated(const Range& range, int device) {
  if (range.bytes == 0) return true;
  const Allocation* allocation = allocation_of(range);
  return allocation != nullptr && (allocation->device == device || allocation->device == kOnHost);
}

cudaError_t launch(cudaStream_t to, const Operation& operation) {
  auto* const stream = reinterpret_cast<Stream*>(to);
  if (stream == nullptr) {
    std::fprintf(stderr, "simulated GPU: the default stream is not simulated\n");
    return cudaErrorNotSupported;
  }
  if (!allocated(operation.reads, stream->device) || !allocated(operation.writes, stream->device))
    return process().sticky = cudaErrorIllegalAddress;
  enqueue(*stream, operation);
  return cudaSuccess;
}

}  // namespace simulated_gpu
