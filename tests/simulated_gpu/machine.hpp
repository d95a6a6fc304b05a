// The machine: everything that ranks share, at one address in all their processes, so that whoever runs may do any
// operation's work. Plain data; who may touch it is the scheduler's matter.
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
constexpr int kQueue = 4096;  ///< of addresses; SIMULATED_GPU_QUEUE says how many of them
constexpr int kEvents = 1 << 18;
constexpr int kCommunicators = 16;
constexpr int kRanks = 16;
constexpr int kConnections = 512;
constexpr int kListeners = 64;
constexpr int kSites = 128;
constexpr int kFrames =
    3;  ///< callers that tell a place from others: an event of a pool has two of its own
constexpr int kLeaving = 64;

enum class ThreadState { free, ready, running, waiting, ended };

struct Thread {
  ThreadState state;
  pid_t pid;
  std::atomic<std::uint32_t> baton;  ///< a futex: 1 once it may run
  std::int64_t ready_since;          ///< a number, for those who became ready to run in order
  // What it waits for: whichever comes first.
  std::uint64_t key;
  const std::int64_t* watched;  ///< something in the machine that is to reach …
  std::int64_t at_least;        ///< … this
  std::int64_t deadline;
  bool timed_out;
  bool interrupted;   ///< a signal's handler ran meanwhile
  const char* where;  ///< a literal of this library
  std::int64_t ended;
};

/// Destroyed it is used no more, but what it holds is done.
struct Stream {
  bool used;
  int device;
  pid_t pid;
  std::int64_t enqueued;
  std::int64_t done;
  Operation queue[kQueue];  ///< the i-th at i % kQueue
  Operation& head() { return queue[done % kQueue]; }
  bool idle() const { return done == enqueued; }
};

/// A stream may come to a wait when the event has been recorded anew: the last few are known.
constexpr std::int64_t kRecordingsKept = 32;
struct Event {
  bool used;
  bool recorded;
  std::int64_t asked;  ///< how often it was recorded, by former owners too …
  std::int64_t done;   ///< … and how many of these have happened
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
  std::int64_t waiting;  ///< connections that nobody accepted yet
};

/// A place in the program that synchronises: the call, and who called it.
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
  std::atomic<int> running;  ///< whose turn it is
  std::atomic<bool> dead;    ///< nobody can go on, or the test gave up
  std::int64_t turns;
  int joined;  ///< processes that were started one by one
  int threads_used;
  Thread threads[kThreads];
  pid_t leaving[kLeaving];  ///< processes that end: whoever runs next waits until they are gone
  std::int64_t exits;
  pthread_mutex_t free_running_lock;

  int streams_used;
  Stream streams[kStreams];
  int first_free_event;  ///< none before it is
  Event events[kEvents];
  std::int64_t cursor;  ///< all that happens on devices up to here has happened
  std::int64_t allocated[kDevices];
  std::int64_t calls[kRanks];  ///< by threads that have chosen a device
  std::int64_t allocations[kRanks];
  std::int64_t fault_time;         ///< kNever: not yet
  std::int64_t launched_at_fault;  ///< collectives of the rank that it struck
  std::int64_t communicator_ids;
  Communicator communicators[kCommunicators];
  int connections_used;
  Connection connections[kConnections];
  Listener listeners[kListeners];
  int sites_used;
  Site sites[kSites];
  Memory memory;
};

// Low, where neither a program nor a sanitizer keeps anything.
constexpr std::uintptr_t kPlace = 0x10'0000'0000;
constexpr std::uintptr_t kMemoryPlace = 0x20'0000'0000;  ///< devices' memory and scratch
constexpr std::size_t kMemoryBytes = 256ULL << 30;       ///< of addresses; pages come when touched

inline Machine& machine() {
  return *reinterpret_cast<Machine*>(kPlace);
}

/// Finds the machine that SIMULATED_GPU_MACHINE names, or makes one for this process and those it forks.
void join_machine();
/// As new.
void reset_machine();
bool machine_is_here();

/// Uniform in [0, bound).
std::uint64_t draw(std::uint64_t bound);
inline bool adversarial() {
  return machine().settings.seed != 0;
}

}  // namespace simulated_gpu
