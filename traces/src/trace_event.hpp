// The fields of one profiler event that we read. Views are valid only during the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpsim {

enum class EventKind {
  other,
  cpu_op,
  annotation,  ///< user_annotation, on the host
  /// A frame of with_stack=True. Only its name is read.
  python,
  /// cuda_runtime, cuda_driver, hip_runtime: calls that enqueue work.
  runtime,
  kernel,
  memory,      ///< gpu_memcpy, gpu_memset
  allocation,  ///< "[memory]", of profile_memory=True
  /// From a device that is neither NVIDIA's nor AMD's: MTIA, HPU, Glow.
  other_device,
  process,  ///< metadata: name or label of a process
  /// An event without a category, from PyTorch builds without Kineto.
  legacy,
};

struct TraceEvent {
  EventKind kind = EventKind::other;
  std::string_view name;     ///< as written: escapes are kept
  std::string_view thread;   ///< "tid" as written
  std::string_view process;  ///< "pid" as written
  std::string_view label;    ///< metadata: "python", "CPU", "Ascend Hardware"
  /// Device that is neither NVIDIA's nor AMD's: "Meta's MTIA".
  std::string_view device_name;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> device;
  std::optional<std::int64_t> device_type;  ///< only for an allocation
  std::optional<std::int64_t> bytes;        ///< only for an allocation; negative if freed
  std::string_view collective;              ///< "Collective name"
  std::optional<std::int64_t> elements;     ///< "In msg nelems"
  std::optional<std::int64_t> sequence;     ///< "Seq": number in the process group
  std::string_view group;  ///< "Process Group Description", else "Process Group Name"
  std::optional<std::int64_t> group_size;
  std::string_view dtype;  ///< "Float", "Half", …
  /// "Input Dims" as written. Set together with `types`, and only if wanted.
  std::string_view dims;
  std::string_view types;  ///< "Input type" as written
  /// First entry of "grid". NCCL runs one thread block per channel.
  std::optional<std::int64_t> blocks;

  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// Converts "1712195495505583.25" (microseconds) to whole nanoseconds, exactly. A double would be
/// off by 0.25 us for timestamps that count from 1970. Absent if the text is not a number, or
/// beyond 63 bits.
std::optional<std::int64_t> nanoseconds_from_microseconds(std::string_view number);

}  // namespace ddpsim
