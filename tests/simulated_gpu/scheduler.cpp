#include "scheduler.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "baton.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "real_calls.hpp"

namespace simulated_gpu {
namespace {

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

void wait_for_those_who_leave() {
  for (pid_t& pid : machine().leaving) {
    if (pid == 0) break;
    if (pid == getpid()) continue;
    wait_until_gone(pid);
    pid = 0;
  }
}

void give_baton_to(int slot) {
  Machine& m = machine();
  m.running = slot;
  m.threads[slot].state = ThreadState::running;
  m.threads[slot].baton = 1;
  futex(m.threads[slot].baton, FUTEX_WAKE, 1, nullptr);
}

/// A thread that holds the baton may have been killed. The thread that notices this continues in
/// its place.
void look_after_the_runner() {
  Machine& m = machine();
  int running = m.running;
  if (running < 0) return;
  const pid_t pid = thread_at(running).pid;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  bool gone = handle < 0 && errno == ESRCH;
  if (handle >= 0) {
    pollfd ended{handle, POLLIN, 0};
    gone = real::poll(&ended, 1, 0) > 0;
    real::close(handle);
  }
  if (!gone || !m.running.compare_exchange_strong(running, kNobody)) return;
  note_killed(pid);
  pass_baton();
}

[[noreturn]] void nobody_can_go_on() {
  Machine& m = machine();
  std::fprintf(stderr, "simulated GPU: deadlock, all threads wait for each other:");
  for (int slot = 0; slot < m.threads_used; ++slot)
    if (m.threads[slot].state == ThreadState::waiting)
      std::fprintf(stderr, " thread %d of process %d in %s;", slot, m.threads[slot].pid,
                   m.threads[slot].where);
  describe_streams();
  m.dead = true;
  for (int slot = 0; slot < m.threads_used; ++slot)
    futex(m.threads[slot].baton, FUTEX_WAKE, 1, nullptr);
  give_up("virtual time is %.6f s", static_cast<double>(m.now) / 1e9);
}

/// Wakes the threads whose wait is over now.
void wake_satisfied() {
  Machine& m = machine();
  for (int slot = 0; slot < m.threads_used; ++slot) {
    Thread& thread = m.threads[slot];
    if (thread.state != ThreadState::waiting) continue;
    const bool reached = thread.watched != nullptr && *thread.watched >= thread.at_least;
    if (!reached && thread.deadline > m.now) continue;
    thread.timed_out = !reached;
    make_ready(thread);
  }
}

/// The thread to run next. Moves time if no thread is ready. kNobody if no thread is left.
int choose() {
  Machine& m = machine();
  for (;;) {
    wake_satisfied();
    int ready[kThreads];
    int count = 0;
    bool any = false;
    std::int64_t next = kNever;
    for (int slot = 0; slot < m.threads_used; ++slot) {
      const Thread& thread = m.threads[slot];
      if (thread.state == ThreadState::ready) ready[count++] = slot;
      if (thread.state != ThreadState::waiting) continue;
      any = true;
      next = std::min(next, thread.deadline);
    }
    if (count > 0) {
      if (adversarial()) return ready[draw(static_cast<std::uint64_t>(count))];
      return *std::min_element(ready, ready + count, [&m](int a, int b) {
        return m.threads[a].ready_since < m.threads[b].ready_since;
      });
    }
    if (!any) return kNobody;
    next = std::min(next, next_on_devices());
    if (next == kNever) nobody_can_go_on();
    m.now = std::max(m.now, next);
    advance_devices(m.now);
  }
}

/// Gives the baton away; this thread is ready or waits.
void run_others() {
  const int next = choose();
  if (next == slot_of_this_thread) {
    thread_at(next).state = ThreadState::running;
    wait_for_those_who_leave();
    return;
  }
  give_baton_to(next);
  await_baton();
}

void sleep_ns(std::int64_t ns) {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  real::nanosleep(&time, nullptr);
}

bool wait_in_real_time(const Wait& wait) {
  constexpr std::int64_t kLookNs = 20'000;
  for (;;) {
    advance_devices(host_ns());
    if (wait.watched != nullptr && *wait.watched >= wait.at_least) return true;
    if (host_ns() >= wait.deadline) return false;
    unlock_machine();
    sleep_ns(kLookNs);
    lock_machine();
    if (wait.watched == nullptr) return true;
  }
}

}  // namespace

void await_baton() {
  Thread& self = thread_at(slot_of_this_thread);
  constexpr timespec kLook{0, 500'000'000};
  while (self.baton.exchange(0) == 0) {
    if (machine().dead) _exit(1);
    if (futex(self.baton, FUTEX_WAIT, 0, &kLook) == 0 || errno == EAGAIN) continue;
    if (errno == EINTR && self.state == ThreadState::waiting) {
      // A signal handler ran, so the blocking call must return. The next running thread notices it.
      self.interrupted = true;
      self.state = ThreadState::ready;
      self.ready_since = machine().turns;
    }
    look_after_the_runner();
  }
  wait_for_those_who_leave();
}

/// The caller stops running.
void pass_baton() {
  const int next = choose();
  if (next == kNobody) {
    machine().running = kNobody;
    return;
  }
  give_baton_to(next);
}

void make_ready(Thread& thread) {
  thread.state = ThreadState::ready;
  thread.ready_since = ++machine().turns;
}

std::int64_t host_ns() {
  timespec time{};
  real::clock_gettime(CLOCK_MONOTONIC, &time);
  return ns_of(time);
}

std::int64_t ns_of(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Uses the C library's lock, so that a thread sanitizer does not see it.
void lock_machine() {
  static const auto lock =
      real::find_in_c_library<decltype(&::pthread_mutex_lock)>("pthread_mutex_lock");
  if (lock(&machine().free_running_lock) == EOWNERDEAD)
    pthread_mutex_consistent(&machine().free_running_lock);
}

void unlock_machine() {
  static const auto unlock =
      real::find_in_c_library<decltype(&::pthread_mutex_unlock)>("pthread_mutex_unlock");
  unlock(&machine().free_running_lock);
}

bool scheduled() {
  return slot_of_this_thread != kNobody && machine().settings.virtual_clock;
}

std::int64_t now_ns() {
  return machine().settings.virtual_clock ? machine().now : host_ns();
}

bool wait_for(const Wait& wait) {
  if (!machine().settings.virtual_clock) return wait_in_real_time(wait);
  advance_devices(machine().now);
  if (wait.watched != nullptr && *wait.watched >= wait.at_least) return true;
  Thread& self = thread_at(slot_of_this_thread);
  self.key = wait.key;
  self.watched = wait.watched;
  self.at_least = wait.at_least;
  self.deadline = wait.deadline;
  self.where = wait.where;
  self.timed_out = self.interrupted = false;
  self.state = ThreadState::waiting;
  run_others();
  self.key = 0;
  return !self.timed_out;
}

void wake(std::uint64_t key, bool all) {
  Machine& m = machine();
  for (int slot = 0; slot < m.threads_used; ++slot) {
    Thread& thread = m.threads[slot];
    if (thread.state != ThreadState::waiting || thread.key != key) continue;
    thread.timed_out = false;
    thread.key = 0;
    make_ready(thread);
    if (!all) return;
  }
}

void spend(std::int64_t ns) {
  Machine& m = machine();
  if (!m.settings.virtual_clock) return;
  if (adversarial()) ns = static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(ns) * 2 + 1));
  wait_for({.where = "work on the host", .deadline = m.now + ns});
}

void let_others_run() {
  constexpr std::uint64_t kOneIn = 4;
  if (!adversarial() || draw(kOneIn) != 0) return;
  make_ready(thread_at(slot_of_this_thread));
  run_others();
}

}  // namespace simulated_gpu
