// One event of a profiler trace, as far as we read it. Views are valid during the call only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpsim {

enum class EventKind {
  other,
  cpu_op,
  annotation,  ///< user_annotation, on the host
  python,      ///< a frame of with_stack=True, of which only the name is read
  runtime,     ///< cuda_runtime, cuda_driver, hip_runtime: the host enqueues
  kernel,
  memory,        ///< gpu_memcpy, gpu_memset
  allocation,    ///< "[memory]", of profile_memory=True
  other_device,  ///< of a device that is neither NVIDIA's nor AMD's: MTIA, HPU, Glow
  process,       ///< the name or label of a process: metadata
  legacy,        ///< no category: the exporter of PyTorch builds without Kineto
};

struct TraceEvent {
  EventKind kind = EventKind::other;
  std::string_view name;         ///< as written: escapes are kept
  std::string_view thread;       ///< "tid" as written
  std::string_view process;      ///< "pid" as written
  std::string_view label;        ///< of metadata: "python", "CPU", "Ascend Hardware"
  std::string_view device_name;  ///< of another device than NVIDIA's and AMD's: "Meta's MTIA"
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> device;
  std::optional<std::int64_t> device_type;  ///< of an allocation …
  std::optional<std::int64_t> bytes;        ///< … negative where they are freed
  std::string_view collective;              ///< "Collective name"
  std::optional<std::int64_t> elements;     ///< "In msg nelems"
  std::optional<std::int64_t> sequence;     ///< "Seq": of a collective in its process group
  std::string_view group;  ///< "Process Group Description", else "Process Group Name"
  std::optional<std::int64_t> group_size;
  std::string_view dtype;              ///< "Float", "Half", …
  std::string_view dims;               ///< "Input Dims" as written; with `types` only where wanted
  std::string_view types;              ///< "Input type" as written
  std::optional<std::int64_t> blocks;  ///< first of "grid": NCCL runs one thread block a channel

  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// "1712195495505583.25" (microseconds) in whole nanoseconds, exact: a double would be 0.25 us off
/// on timestamps that count from 1970. Nothing when it is not a number or beyond 63 bits.
std::optional<std::int64_t> nanoseconds_from_microseconds(std::string_view number);

}  // namespace ddpsim
