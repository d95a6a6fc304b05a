// Processes of the program. A child starts when it is its turn. Others continue only after a
// process has ended.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "real_calls.hpp"
#include "scheduler.hpp"
#include "sockets.hpp"

using namespace simulated_gpu;

namespace {

void leave() {
  if (!scheduled()) return;
  close_all_sockets();
  leave_machine();
}

/// Runs after the program's own destructors.
__attribute__((destructor)) void leave_at_the_end() {
  leave();
}

}  // namespace

void simulated_gpu::die() {
  static const auto kill_process = real::find<decltype(&::kill)>("kill");
  leave();
  kill_process(getpid(), SIGKILL);
  std::abort();
}

extern "C" {

pid_t fork() {
  constexpr std::int64_t kForkNs = 200'000;
  static const auto next = real::find<decltype(&::fork)>("fork");
  if (!scheduled()) return next();
  spend(kForkNs);
  const int slot = add_thread(0);
  const pid_t child = next();
  if (child == 0) {
    forget_sockets();
    begin_thread(slot);
    return 0;
  }
  if (child < 0) {
    remove_thread(slot);
  } else {
    machine().threads[slot].pid = child;
  }
  return child;
}

pid_t waitpid(pid_t wanted, int* status, int options) {
  static const auto next = real::find<decltype(&::waitpid)>("waitpid");
  if (!scheduled()) return next(wanted, status, options);
  for (;;) {
    const pid_t ended = next(wanted, status, options | WNOHANG);
    if (ended != 0 || (options & WNOHANG) != 0) return ended;
    wait_for({.where = "waiting for a process", .key = kProcesses});
    if (machine().threads[own_slot()].interrupted) {
      errno = EINTR;
      return -1;
    }
  }
}

int kill(pid_t pid, int signal) {
  static const auto next = real::find<decltype(&::kill)>("kill");
  const int status = next(pid, signal);
  if (status == 0 && scheduled() && signal == SIGKILL && pid > 0) note_killed(pid);
  return status;
}

void _exit(int status) {
  leave();
  syscall(SYS_exit_group, status);
  std::abort();
}

void _Exit(int status) {
  _exit(status);
}

}  // extern "C"
