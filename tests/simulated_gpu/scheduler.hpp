// Who runs, and what time it is.
//
// Virtual clock: of all threads of all processes one runs, the one that holds the baton. It gives the baton away where it
// would block. When nobody can go on, time moves to the next moment at which anything happens: an operation begins or ends, a
// deadline is reached. Where there is no such moment either, all of them wait for each other: each is named, and all end.
//
// Free-running clock: threads run as the kernel lets them, one lock guards the machine, time is the host's.
#pragma once

#include <cstdint>
#include <ctime>

#include "machine.hpp"
#include "thread_sanitizer.hpp"

namespace simulated_gpu {

/// This thread is one of the machine's and time is virtual: what it does is interposed.
bool scheduled();

std::int64_t now_ns();
std::int64_t ns_of(const timespec& time);

struct Wait {
  const char* where;                      ///< for the message when nobody can go on
  std::uint64_t key = 0;                  ///< woken by wake()
  const std::int64_t* watched = nullptr;  ///< in the machine
  std::int64_t at_least = 0;
  std::int64_t deadline = kNever;
};
/// False: the deadline was reached first. On the free-running clock without `watched` it returns
/// after a moment.
bool wait_for(const Wait& wait);
void wake(std::uint64_t key, bool all = true);

/// The host works for so long.
void spend(std::int64_t ns);
/// With a seed: somebody else may run here.
void let_others_run();

/// A thread's life. The first one of a process starts with the baton of nobody.
int add_thread(pid_t pid);
void begin_thread(int slot);
void end_thread();
int own_slot();
void remove_thread(int slot);
/// A process that nobody forked here joins in.
void join_scheduler();
/// In a forked child, for the slot made by the parent.
void begin_process(int slot);
/// The machine does not know this process any more; it was alone.
void stand_aside();
/// This process ends: its threads are no more, others go on once it is gone.
void leave_machine();
/// As if somebody had killed it.
[[noreturn]] void die();
/// Another process was killed by this one.
void note_killed(pid_t pid);

/// What wakes whoever waits for sockets, and for processes.
constexpr std::uint64_t kSockets = 1;
constexpr std::uint64_t kProcesses = 2;

/// A call of CUDA or NCCL: takes its time, holds the machine, brings devices up to now.
class Call {
 public:
  explicit Call(std::int64_t cost_ns, void* caller = __builtin_return_address(0));
  ~Call();
  /// Where the program makes the call that this thread is in.
  static void* caller();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Unseen unseen_;
};

}  // namespace simulated_gpu
