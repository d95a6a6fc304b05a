// The scheduler and the clock.
//
// Virtual clock: of all threads of all processes, only the one that holds the baton runs. It gives
// the baton away when it would block. When no thread can continue, time moves to the next event,
// such as the end of an operation or a deadline. If there is no such event, all threads wait for
// each other. Then each is named, and all end.
//
// Free-running clock: the kernel schedules the threads, one lock guards the machine, and time is
// the host's.
#pragma once

#include <cstdint>
#include <ctime>

#include "machine.hpp"
#include "thread_sanitizer.hpp"

namespace simulated_gpu {

/// Whether this thread belongs to the machine and time is virtual, so that its calls are
/// interposed.
bool scheduled();

std::int64_t now_ns();
std::int64_t ns_of(const timespec& time);

struct Wait {
  const char* where;                      ///< for the message about a deadlock
  std::uint64_t key = 0;                  ///< woken by wake()
  const std::int64_t* watched = nullptr;  ///< value in the machine
  std::int64_t at_least = 0;
  std::int64_t deadline = kNever;
};
/// False if the deadline was reached first. With the free-running clock and without `watched`, it
/// returns after a moment.
bool wait_for(const Wait& wait);
void wake(std::uint64_t key, bool all = true);

/// Simulates work of the host.
void spend(std::int64_t ns);
/// With a seed, another thread may run here.
void let_others_run();

/// Adds a thread. The first thread of a process starts without taking the baton from another.
int add_thread(pid_t pid);
void begin_thread(int slot);
void end_thread();
int own_slot();
void remove_thread(int slot);
/// Adds a process that was not forked here.
void join_scheduler();
/// Called in a forked child, for the slot made by the parent.
void begin_process(int slot);
/// Removes this process from the machine, in which it was alone.
void stand_aside();
/// Removes this ending process and its threads. Others continue once it is gone.
void leave_machine();
/// Ends the process as if it had been killed.
[[noreturn]] void die();
/// Records that this process killed another.
void note_killed(pid_t pid);

/// Keys that wake threads waiting for sockets and processes.
constexpr std::uint64_t kSockets = 1;
constexpr std::uint64_t kProcesses = 2;

/// A call of CUDA or NCCL. It takes its time, holds the machine, and brings devices up to now.
class Call {
 public:
  explicit Call(std::int64_t cost_ns, void* caller = __builtin_return_address(0));
  ~Call();
  /// The place in the program of this thread's current call.
  static void* caller();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Unseen unseen_;
};

}  // namespace simulated_gpu
