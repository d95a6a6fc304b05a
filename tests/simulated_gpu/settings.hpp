// Settings of the simulated machine, read once from the environment and kept in the machine.
#pragma once

#include <cstdint>

#include "operation.hpp"

namespace simulated_gpu {

constexpr int kDevices = 8;
constexpr int kTableRows = 1024;

/// The duration of a collective of this size (Collective::bytes) after the last rank has arrived.
struct CollectiveRow {
  CollectiveKind kind;
  std::int64_t bytes;
  std::int64_t ns;
  int ranks;  ///< size of its communicator; 0 means any
};

enum class FaultKind { none, die, init, async, error, sticky, memory, silence, slow };

/// A fault of a rank at its `at`-th call, allocation or collective. For `slow`, `at` is the factor.
struct Fault {
  FaultKind kind = FaultKind::none;
  int rank = 0;
  std::int64_t at = 0;
};

struct Settings {
  /// False with SIMULATED_GPU_CLOCK=free: time is the host's, and the kernel schedules the threads.
  bool virtual_clock = true;
  /// SIMULATED_GPU_SEED. Every choice that CUDA leaves open is drawn from it. With 0, operations
  /// take the table's times, and threads run in the order in which they became ready.
  std::uint64_t seed = 0;
  /// SIMULATED_GPU_PROCESSES. Separately started processes begin once this many have joined the
  /// machine, in the order of RANK.
  int processes = 1;
  /// SIMULATED_GPU_DEVICES: number of physical devices, before CUDA_VISIBLE_DEVICES.
  int devices = kDevices;
  /// SIMULATED_GPU_MEMORY_MIB: memory of each device.
  std::int64_t memory_bytes = 16LL << 30;
  /// SIMULATED_GPU_QUEUE: launches that a stream holds before the host waits.
  int queue = 1024;

  /// SIMULATED_GPU_DIE=RANK:COLLECTIVE: this rank's process is killed as it launches that
  /// collective, counted from 0.
  int dying_rank = -1;
  std::int64_t last_collective = 0;
  /// SIMULATED_GPU_FAULT=KIND:RANK:N (faults.hpp).
  Fault fault;
  /// SIMULATED_GPU_SKIP: the synchronising place whose calls do nothing (sites.hpp), or 0.
  std::uint64_t skip = 0;
  bool note_sites = false;

  // SIMULATED_GPU_TABLE names a file of lines `KEY VALUE` with the keys below.
  //
  // Other lines are `all_reduce BYTES NS`, and likewise for other collectives. A third number
  // restricts a line to communicators of that many ranks.
  /// Host time to launch a kernel or asynchronous copy.
  std::int64_t launch_ns = 4000;
  /// Host time to record or wait for an event.
  std::int64_t event_ns = 1000;
  std::int64_t collective_launch_ns = 10000;  ///< host time to launch a collective
  std::int64_t call_ns = 200;                 ///< host time of any other call
  std::int64_t wake_ns = 0;                   ///< time until the host continues after waiting
  std::int64_t message_ns = 10000;            ///< host time of a message over loopback
  /// Host time to read a clock. It is positive so that a polling loop ends.
  std::int64_t clock_ns = 20;
  std::int64_t kernel_ns = 2000;  ///< device time of an empty kernel or copy
  /// From an event to the operation waiting for it.
  std::int64_t event_latency_ns = 0;
  /// From the end of a launch to the earliest start.
  std::int64_t launch_latency_ns = 0;
  double work_beside_collective = 1;  ///< factor for busy compute beside a collective
  double copy_bytes_per_ns = 700;     ///< bytes read and written
  int collective_rows = 0;
  CollectiveRow collectives[kTableRows] = {};

  std::int64_t collective_ns(CollectiveKind kind, int ranks, std::int64_t bytes) const;
};

/// Ends the process with a message if a variable or the table is invalid.
Settings settings_from_environment();

/// The number in an environment variable, or `absent` if it is not set.
std::int64_t number_from_environment(const char* name, std::int64_t absent);

/// Prints one line on stderr and ends the process, so that a misconfigured machine does not look
/// like a working one.
[[noreturn]] void give_up(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace simulated_gpu
