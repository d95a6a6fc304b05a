// What the simulated machine is like: read once from the environment, kept in the machine.
#pragma once

#include <cstdint>

#include "operation.hpp"

namespace simulated_gpu {

constexpr int kDevices = 8;
constexpr int kTableRows = 1024;

/// How long a collective of this size (Collective::bytes) takes once the last rank has arrived.
struct CollectiveRow {
  CollectiveKind kind;
  std::int64_t bytes;
  std::int64_t ns;
  int ranks;  ///< of its communicator; 0: of any
};

enum class FaultKind { none, die, init, async, error, sticky, memory, silence, slow };

/// What goes wrong on a rank, at its `at`-th call, allocation or collective; of `slow` how many times slower it is.
struct Fault {
  FaultKind kind = FaultKind::none;
  int rank = 0;
  std::int64_t at = 0;
};

struct Settings {
  /// SIMULATED_GPU_CLOCK=free: time is the host's, threads run as the kernel lets them.
  bool virtual_clock = true;
  /// SIMULATED_GPU_SEED: every choice that CUDA leaves open is drawn from it. 0: operations take what
  /// the table says, threads run in the order in which they became ready.
  std::uint64_t seed = 0;
  /// SIMULATED_GPU_PROCESSES: started one by one, they begin when so many have joined the machine, in the order of RANK.
  int processes = 1;
  /// SIMULATED_GPU_DEVICES: physical ones, before CUDA_VISIBLE_DEVICES.
  int devices = kDevices;
  /// SIMULATED_GPU_MEMORY_MIB, each device.
  std::int64_t memory_bytes = 16LL << 30;
  /// SIMULATED_GPU_QUEUE: launches that a stream holds before the host waits.
  int queue = 1024;

  /// SIMULATED_GPU_DIE=RANK:COLLECTIVE: this rank's process is killed as it launches that collective, counted from 0.
  int dying_rank = -1;
  std::int64_t last_collective = 0;
  /// SIMULATED_GPU_FAULT=KIND:RANK:N (faults.hpp).
  Fault fault;
  /// SIMULATED_GPU_SKIP: the place that synchronises whose calls do nothing (sites.hpp); 0: none.
  std::uint64_t skip = 0;
  bool note_sites = false;

  // SIMULATED_GPU_TABLE names a file of lines `KEY VALUE` with the keys below, and `all_reduce BYTES NS`, with
  // a third number where communicators of so many ranks alone take that; the other collectives alike.
  std::int64_t launch_ns = 4000;              ///< of the host, a kernel or an asynchronous copy
  std::int64_t event_ns = 1000;               ///< of the host, recording or waiting for an event
  std::int64_t collective_launch_ns = 10000;  ///< of the host
  std::int64_t call_ns = 200;                 ///< of the host, any other call
  std::int64_t wake_ns = 0;                   ///< until it goes on behind a stream it waited for
  std::int64_t message_ns = 10000;            ///< of the host, a message over loopback
  std::int64_t clock_ns =
      20;  ///< of the host, reading a clock; so a loop that only looks ends, too
  std::int64_t kernel_ns = 2000;       ///< of the device, a kernel or copy of nothing
  std::int64_t event_latency_ns = 0;   ///< from an event to what waited for it
  std::int64_t launch_latency_ns = 0;  ///< from the end of its launch to the start of anything
  double work_beside_collective = 1;   ///< how many times longer busy compute takes there
  double copy_bytes_per_ns = 700;      ///< read and written together
  int collective_rows = 0;
  CollectiveRow collectives[kTableRows] = {};

  std::int64_t collective_ns(CollectiveKind kind, int ranks, std::int64_t bytes) const;
};

/// Ends the process with a message where a variable or the table is no good.
Settings settings_from_environment();

/// The number in an environment variable; `absent` where it is not set.
std::int64_t number_from_environment(const char* name, std::int64_t absent);

/// One line on stderr, then the end: a test's machine that is set up wrongly must not look like one that works.
[[noreturn]] void give_up(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace simulated_gpu
