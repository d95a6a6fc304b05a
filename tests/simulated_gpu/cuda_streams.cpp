// The CUDA runtime's streams and events, as far as ddpsim-real uses them. Unsupported requests are
// reported by name.
#include <algorithm>
#include <cstdio>

#include "cuda_process.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "scheduler.hpp"
#include "sites.hpp"

using namespace simulated_gpu;

namespace {

Stream* stream_of(cudaStream_t stream) {
  return reinterpret_cast<Stream*>(stream);
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

}  // namespace

extern "C" {

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

/// Ignores the priority, because kernels do not compete here.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

/// The stream still completes its operations.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call(machine().settings.call_ns);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  tell_of_end(*stream_of(stream));
  stream_of(stream)->used = false;
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (skipped("cudaStreamQuery")) return cudaSuccess;
  if (!stream_of(stream)->idle()) return cudaErrorNotReady;  // not stored as an error
  tell_of_wait_for(*stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (skipped("cudaStreamSynchronize")) return report(process().sticky);
  if (!stream_of(stream)->idle()) {
    drain(*stream_of(stream));
    spend(machine().settings.wake_ns);
  }
  tell_of_wait_for(*stream_of(stream));
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
  int& first = m.first_free_event;
  while (first < kEvents && m.events[first].used) ++first;
  // A thread may still wait for recordings of a former owner, which must not be overtaken by new
  // ones.
  int place = first;
  while (place < kEvents && (m.events[place].used || m.events[place].done < m.events[place].asked))
    ++place;
  if (place == kEvents) return report(cudaErrorMemoryAllocation);
  m.events[place].used = true;
  m.events[place].recorded = false;
  *event = reinterpret_cast<cudaEvent_t>(&m.events[place]);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Call call(machine().settings.call_ns);
  if (!is_event(event)) return report(cudaErrorInvalidResourceHandle);
  event_of(event).used = false;
  machine().first_free_event = std::min(machine().first_free_event, index_of(event));
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
  // Not stored as an error.
  if (event_of(event).done < event_of(event).asked) return cudaErrorNotReady;
  tell_of_wait_for(index_of(event), event_of(event).asked);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (!is_event(event)) return report(cudaErrorInvalidResourceHandle);
  if (skipped("cudaEventSynchronize")) return report(process().sticky);
  const std::int64_t recording = event_of(event).asked;
  wait_for(
      {.where = "waiting for an event", .watched = &event_of(event).done, .at_least = recording});
  tell_of_wait_for(index_of(event), recording);
  return report(process().sticky);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Call call(machine().settings.call_ns);
  if (const cudaError_t error = usable(); error != cudaSuccess) return report(error);
  if (!is_event(from) || !is_event(to)) return report(cudaErrorInvalidResourceHandle);
  Event& first = event_of(from);
  Event& last = event_of(to);
  if (!first.recorded || !last.recorded) return report(cudaErrorInvalidResourceHandle);
  if (first.done < first.asked || last.done < last.asked) return report(cudaErrorNotReady);
  constexpr double kNsPerMs = 1e6;
  *milliseconds = static_cast<float>(
      static_cast<double>(last.time(last.asked) - first.time(first.asked)) / kNsPerMs);
  return cudaSuccess;
}

}  // extern "C"
