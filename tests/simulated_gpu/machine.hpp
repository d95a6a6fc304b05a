// The machine: everything that ranks share, at one address in all their processes, so that any
// running thread may do any operation's work. It is plain data; the scheduler decides which thread
// may access it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "operation.hpp"
#include "settings.hpp"

namespace simulated_gpu {

constexpr std::int64_t kNever = INT64_MAX;
constexpr int kThreads = 1024;
constexpr int kStreams = 128;
constexpr int kQueue = 4096;  ///< capacity; SIMULATED_GPU_QUEUE limits how many are used
constexpr int kEvents = 1 << 18;
constexpr int kCommunicators = 16;
constexpr int kRanks = 16;
constexpr int kConnections = 512;
constexpr int kListeners = 64;
constexpr int kSites = 128;
/// Number of callers that identify a place. An event of a pool has two of its own.
constexpr int kFrames = 3;
constexpr int kLeaving = 64;

enum class ThreadState { free, ready, running, waiting, ended };

struct Thread {
  ThreadState state;
  pid_t pid;
  std::atomic<std::uint32_t> baton;  ///< a futex, 1 once it may run
  /// Sequence number for threads that became ready in order.
  std::int64_t ready_since;
  // The thread waits for the first of these.
  std::uint64_t key;
  const std::int64_t* watched;  ///< value in the machine that must reach `at_least`
  std::int64_t at_least;        ///< value to reach
  std::int64_t deadline;
  bool timed_out;
  bool interrupted;   ///< a signal handler ran meanwhile
  const char* where;  ///< a literal of this library
  std::int64_t ended;
};

/// A destroyed stream accepts no operations but still completes those it holds.
struct Stream {
  bool used;
  int device;
  pid_t pid;
  std::int64_t enqueued;
  std::int64_t done;
  Operation queue[kQueue];  ///< operation i is at i % kQueue
  Operation& head() { return queue[done % kQueue]; }
  bool idle() const { return done == enqueued; }
};

/// When a stream reaches a wait, the event may have been recorded again. So the last few recordings
/// are kept.
constexpr std::int64_t kRecordingsKept = 32;
struct Event {
  bool used;
  bool recorded;
  std::int64_t asked;  ///< number of recordings, including those of former owners
  std::int64_t done;   ///< number of finished recordings
  std::array<std::int64_t, kRecordingsKept> times;
  std::int64_t& time(std::int64_t recording) {
    return times[static_cast<std::size_t>(recording % kRecordingsKept)];
  }
};

/// One direction of a connection over loopback.
struct Connection {
  int from_port;
  int to_port;
  std::int64_t sent;
  std::int64_t received;
  bool closed;
};

struct Listener {
  int port;
  std::int64_t waiting;  ///< connections that were not accepted yet
};

/// A place in the program that synchronises, as the call and its callers.
struct Site {
  std::uint64_t hash;
  char call[32];
  std::int64_t frames[kFrames];  ///< within the program's file
};

struct Machine {
  std::atomic<std::uint32_t> made;
  Settings settings;
  std::int64_t now;
  std::uint64_t random;
  std::atomic<int> running;  ///< the thread that may run
  /// No thread can continue, or the test gave up.
  std::atomic<bool> dead;
  std::int64_t turns;
  int joined;  ///< processes that were started separately
  int threads_used;
  Thread threads[kThreads];
  /// Processes that are ending. The next running thread waits until they are gone.
  pid_t leaving[kLeaving];
  std::int64_t exits;
  pthread_mutex_t free_running_lock;

  int streams_used;
  Stream streams[kStreams];
  int first_free_event;  ///< no earlier event is free
  Event events[kEvents];
  /// Time up to which all events on devices have been processed.
  std::int64_t cursor;
  std::int64_t allocated[kDevices];
  std::int64_t calls[kRanks];  ///< calls of threads that have chosen a device
  std::int64_t allocations[kRanks];
  std::int64_t fault_time;         ///< kNever if the fault has not occurred
  std::int64_t launched_at_fault;  ///< collectives that the faulty rank had launched
  std::int64_t communicator_ids;
  Communicator communicators[kCommunicators];
  int connections_used;
  Connection connections[kConnections];
  Listener listeners[kListeners];
  int sites_used;
  Site sites[kSites];
  Memory memory;
};

// A low address that neither programs nor sanitizers use.
constexpr std::uintptr_t kPlace = 0x10'0000'0000;
constexpr std::uintptr_t kMemoryPlace = 0x20'0000'0000;  ///< memory of devices and scratch memory
/// Address space; pages are allocated when touched.
constexpr std::size_t kMemoryBytes = 256ULL << 30;

inline Machine& machine() {
  return *reinterpret_cast<Machine*>(kPlace);
}

/// Opens the machine that SIMULATED_GPU_MACHINE names, or creates one for this process and its
/// forks.
void join_machine();
/// Resets the machine to its initial state.
void reset_machine();
bool machine_is_here();

/// Uniform in [0, bound).
std::uint64_t draw(std::uint64_t bound);
inline bool adversarial() {
  return machine().settings.seed != 0;
}

}  // namespace simulated_gpu
