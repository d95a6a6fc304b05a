// Starts and ends of threads and processes, and the calls of existing ones.
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "baton.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "real_calls.hpp"
#include "scheduler.hpp"

namespace simulated_gpu {
namespace {

thread_local void* caller_of_this_call = nullptr;

void end_threads_of(pid_t pid) {
  Machine& m = machine();
  for (int slot = 0; slot < m.threads_used; ++slot)
    if (m.threads[slot].pid == pid && m.threads[slot].state != ThreadState::free)
      m.threads[slot].state = ThreadState::ended;
  for (int i = 0; i < m.streams_used; ++i)
    if (m.streams[i].pid == pid) m.streams[i].done = m.streams[i].enqueued;
  ++m.exits;
}

}  // namespace

/// Other processes notice a process's end, and the end of its sockets, a moment later than it
/// reports it.
void wait_until_gone(pid_t pid) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (handle < 0) return;  // its parent has already reaped it
  pollfd ended{handle, POLLIN, 0};
  constexpr int kMilliseconds = 5000;
  real::poll(&ended, 1, kMilliseconds);
  real::close(handle);
}

int add_thread(pid_t pid) {
  Machine& m = machine();
  if (m.threads_used == kThreads) give_up("more than %d threads", kThreads);
  Thread& thread = m.threads[m.threads_used];
  thread.pid = pid;
  thread.watched = nullptr;
  thread.baton = 0;
  make_ready(thread);
  return m.threads_used++;
}

void begin_thread(int slot) {
  slot_of_this_thread = slot;
  if (machine().settings.virtual_clock) await_baton();
}

void end_thread() {
  Thread& self = thread_at(slot_of_this_thread);
  self.state = ThreadState::ended;
  self.ended = 1;
  slot_of_this_thread = kNobody;
  if (machine().settings.virtual_clock) pass_baton();
}

int own_slot() {
  return slot_of_this_thread;
}

void remove_thread(int slot) {
  thread_at(slot).state = ThreadState::ended;
}

void begin_process(int slot) {
  Machine& m = machine();
  slot_of_this_thread = slot;
  if (!m.settings.virtual_clock) return;
  int nobody = kNobody;
  if (m.running.compare_exchange_strong(nobody, slot)) {
    thread_at(slot).state = ThreadState::running;
    return;
  }
  await_baton();
}

void join_scheduler() {
  Machine& m = machine();
  if (m.settings.processes <= 1) return begin_process(add_thread(getpid()));
  slot_of_this_thread = static_cast<int>(number_from_environment("RANK", 0));
  lock_machine();
  m.threads_used = std::max(m.threads_used, m.settings.processes);
  Thread& self = thread_at(slot_of_this_thread);
  self.pid = getpid();
  self.state = ThreadState::ready;
  self.ready_since = slot_of_this_thread;
  m.turns = m.settings.processes;
  const bool last = ++m.joined == m.settings.processes;
  unlock_machine();
  if (!m.settings.virtual_clock) return;
  if (last) pass_baton();
  await_baton();
}

void stand_aside() {
  slot_of_this_thread = kNobody;
}

void leave_machine() {
  if (!scheduled()) return;
  Machine& m = machine();
  for (pid_t& pid : m.leaving) {
    if (pid != 0) continue;
    pid = getpid();
    break;
  }
  end_threads_of(getpid());
  wake(kProcesses);
  wake(kSockets);
  slot_of_this_thread = kNobody;
  pass_baton();
}

void note_killed(pid_t pid) {
  wait_until_gone(pid);
  end_threads_of(pid);
  wake(kProcesses);
  wake(kSockets);
}

Call::Call(std::int64_t cost_ns, void* caller) {
  caller_of_this_call = caller;
  if (machine().settings.virtual_clock) {
    if (!scheduled()) give_up("an unknown thread calls CUDA or NCCL");
    spend(cost_ns * slowness_of_host());
    advance_devices(machine().now);
  } else {
    lock_machine();
    advance_devices(host_ns());
  }
  note_call();
}

Call::~Call() {
  if (!machine().settings.virtual_clock) unlock_machine();
}

void* Call::caller() {
  return caller_of_this_call;
}

}  // namespace simulated_gpu
