// The CUDA runtime, as far as ddpsim-real asks it. What it is asked and cannot do it names.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "devices.hpp"
#include "faults.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "scheduler.hpp"
#include "sites.hpp"

using namespace simulated_gpu;

namespace {

struct Allocation {
  std::int64_t bytes;
  int device;  ///< physical
};

/// What CUDA keeps for a process. Touched by whoever holds the machine.
struct Process {
  pid_t initialised_by = 0;  ///< after a fork CUDA is of no use
  cudaError_t sticky = cudaSuccess;
  std::map<std::byte*, Allocation> allocations;
  std::map<const void*, int> kernels;
};

Process& process() {
  static Process one;
  return one;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;  // as the program numbers them

cudaError_t report(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

/// Physical devices in the order of CUDA_VISIBLE_DEVICES; the first that does not exist hides those behind it.
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

/// What stands in the way of any call that needs a device; of those, too, whose answer nobody can use.
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

bool allocated(const Range& range, int device) {
  if (range.bytes == 0) return true;
  const auto& allocations = process().allocations;
  auto after = allocations.upper_bound(range.begin);
  if (after == allocations.begin()) return false;
  const auto& [begin, allocation] = *--after;
  return allocation.device == device && range.begin + range.bytes <= begin + allocation.bytes;
}

Stream* stream_of(cudaStream_t stream) {
  return reinterpret_cast<Stream*>(stream);
}

/// Memory that is not there is found by the kernel, and nothing works from then on.
cudaError_t launch(cudaStream_t to, const Operation& operation) {
  Stream* const stream = stream_of(to);
  if (stream == nullptr) {
    std::fprintf(stderr, "simulated GPU: the default stream is not simulated\n");
    return cudaErrorNotSupported;
  }
  if (!allocated(operation.reads, stream->device) || !allocated(operation.writes, stream->device))
    return process().sticky = cudaErrorIllegalAddress;
  enqueue(*stream, operation);
  return cudaSuccess;
}

Event& event_of(cudaEvent_t event) {
  return *reinterpret_cast<Event*>(event);
}

int index_of(cudaEvent_t event) {
  return static_cast<int>(&event_of(event) - machine().events);
}

bool is_event(cudaEvent_t event) {
  const auto place = reinterpret_cast<std::uintptr_t>(event);
  const auto first = reinterpret_cast<std::uintptr_t>(machine().events);
  return place >= first && place < first + sizeof machine().events && event_of(event).used;
}

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local LaunchShape shape;

}  // namespace

int simulated_gpu::physical_device() {
  return visible_devices()[static_cast<std::size_t>(current_device)];
}

extern "C" {

// How nvcc's code makes itself known and launches.

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  join_machine();
  join_scheduler();
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const std::optional<int> kernel = kernel_named(name);
  if (!kernel) give_up("nobody wrote down how to run the kernel %s (kernels.cpp)", name);
  process().kernels[function] = *kernel;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                     cudaStream_t stream) {
  shape = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                       void* stream) {
  *grid = shape.grid;
  *block = shape.block;
  *shared_bytes = shape.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = shape.stream;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3, dim3, void** arguments, std::size_t,
                             cudaStream_t stream) {
  const Call call(machine().settings.launch_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  const auto known = process().kernels.find(function);
  if (known == process().kernels.end()) return report(cudaErrorInvalidDeviceFunction);
  return report(launch(stream, kernel_operation(known->second, arguments)));
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

// Devices.

cudaError_t cudaGetDeviceCount(int* count) {
  const Call call(machine().settings.call_ns);
  const cudaError_t error = usable();
  *count = static_cast<int>(visible_devices().size());
  return report(error);
}

cudaError_t cudaSetDevice(int device) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (device < 0 || device >= static_cast<int>(visible_devices().size()))
    return report(cudaErrorInvalidDevice);
  current_device = device;
  calls_are_of(physical_device());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  constexpr int kProcessors = 80;
  if (attribute != cudaDevAttrMultiProcessorCount) return report(cudaErrorNotSupported);
  *value = kProcessors;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "simulated V100-SXM2-16GB");
  properties->major = 7;
  properties->multiProcessorCount = 80;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = process().sticky != cudaSuccess ? process().sticky : last_error;
  last_error = cudaSuccess;
  return error;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInitializationError:
      return "initialization error";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorNotSupported:
      return "operation not supported";
    default:
      return "an error of CUDA's";
  }
}

// Memory.

cudaError_t cudaMalloc(void** memory, std::size_t size) {
  constexpr int kNaN = 0xFF;  // whoever reads what nobody wrote shall notice
  const Call call(machine().settings.launch_ns);
  *memory = nullptr;
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  const auto bytes = static_cast<std::int64_t>(size);
  std::int64_t& used = machine().allocated[physical_device()];
  if (no_memory_at_this_allocation() || bytes > machine().settings.memory_bytes - used)
    return report(cudaErrorMemoryAllocation);
  used += bytes;
  std::byte* const place = take_memory(bytes);
  std::memset(place, kNaN, size);
  process().allocations[place] = {bytes, physical_device()};
  *memory = place;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const Call call(machine().settings.launch_ns);
  if (memory == nullptr) return cudaSuccess;
  if (const cudaError_t error = usable_at_the_end(); error != cudaSuccess) return report(error);
  const auto found = process().allocations.find(static_cast<std::byte*>(memory));
  if (found == process().allocations.end()) return report(cudaErrorInvalidValue);
  const auto [place, allocation] = *found;
  drain_device(allocation.device);
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
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Call call(machine().settings.launch_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (kind != cudaMemcpyDeviceToDevice) {
    std::fprintf(stderr,
                 "simulated GPU: asynchronous copies from and to the host are not simulated\n");
    return report(cudaErrorNotSupported);
  }
  if (size == 0) return cudaSuccess;
  Operation operation{};
  operation.kind = Kind::copy;
  operation.call.from = static_cast<const std::byte*>(from);
  operation.call.to = static_cast<std::byte*>(to);
  operation.reads = {static_cast<std::byte*>(const_cast<void*>(from)),
                     static_cast<std::int64_t>(size)};
  operation.writes = {static_cast<std::byte*>(to), static_cast<std::int64_t>(size)};
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
  return report(launch(stream, operation));
}

// Streams and events.

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Call call(machine().settings.launch_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (flags != cudaStreamNonBlocking) {
    std::fprintf(stderr,
                 "simulated GPU: streams that wait for the default one are not simulated\n");
    return report(cudaErrorNotSupported);
  }
  *stream = reinterpret_cast<cudaStream_t>(new_stream(physical_device()));
  return cudaSuccess;
}

/// What it holds is still done.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call(machine().settings.call_ns);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  stream_of(stream)->used = false;
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (skipped("cudaStreamQuery")) return cudaSuccess;
  return stream_of(stream)->idle() ? cudaSuccess : cudaErrorNotReady;  // NotReady is no error
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (!skipped("cudaStreamSynchronize")) drain(*stream_of(stream));
  return report(process().sticky);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Call call(machine().settings.event_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (!is_event(event)) return report(cudaErrorInvalidResourceHandle);
  if (skipped("cudaStreamWaitEvent") || !event_of(event).recorded) return cudaSuccess;
  Operation operation{};
  operation.kind = Kind::wait;
  operation.event = index_of(event);
  operation.recording = event_of(event).asked;
  return report(launch(stream, operation));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  Machine& m = machine();
  int place = 0;
  while (place < m.events_used && m.events[place].used) ++place;
  if (place == kEvents) return report(cudaErrorMemoryAllocation);
  m.events_used = std::max(m.events_used, place + 1);
  m.events[place].used = true;  // what waits for a former owner's recordings still does
  m.events[place].recorded = false;
  *event = reinterpret_cast<cudaEvent_t>(&m.events[place]);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Call call(machine().settings.call_ns);
  if (!is_event(event)) return report(cudaErrorInvalidResourceHandle);
  event_of(event).used = false;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Call call(machine().settings.event_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (!is_event(event)) return report(cudaErrorInvalidResourceHandle);
  if (skipped("cudaEventRecord")) return cudaSuccess;
  event_of(event).recorded = true;
  Operation operation{};
  operation.kind = Kind::record;
  operation.event = index_of(event);
  operation.recording = ++event_of(event).asked;
  return report(launch(stream, operation));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (!is_event(event)) return report(cudaErrorInvalidResourceHandle);
  if (skipped("cudaEventQuery")) return cudaSuccess;
  return event_of(event).done >= event_of(event).asked ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (!is_event(event)) return report(cudaErrorInvalidResourceHandle);
  if (!skipped("cudaEventSynchronize"))
    wait_for({.where = "waiting for an event",
              .watched = &event_of(event).done,
              .at_least = event_of(event).asked});
  return report(process().sticky);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (!is_event(from) || !is_event(to)) return report(cudaErrorInvalidResourceHandle);
  const Event& first = event_of(from);
  const Event& last = event_of(to);
  if (!first.recorded || !last.recorded) return report(cudaErrorInvalidResourceHandle);
  if (first.done < first.asked || last.done < last.asked) return report(cudaErrorNotReady);
  constexpr double kNsPerMs = 1e6;
  *milliseconds = static_cast<float>(static_cast<double>(last.time - first.time) / kNsPerMs);
  return cudaSuccess;
}

}  // extern "C"
