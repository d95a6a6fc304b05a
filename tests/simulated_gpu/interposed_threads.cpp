// Threads, mutexes and conditions of the program. A thread that would block gives the baton away.
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>

#include "real_calls.hpp"
#include "scheduler.hpp"

using namespace simulated_gpu;

namespace {

/// Key for what this process's threads wait for. Addresses have a meaning in only one process.
std::uint64_t key_of(const void* object) {
  constexpr int kPidBits = 40;  // above the bits of addresses
  return reinterpret_cast<std::uintptr_t>(object) ^
         (static_cast<std::uint64_t>(machine().threads[own_slot()].pid) << kPidBits);
}

std::map<pthread_t, int>& slots() {
  static std::map<pthread_t, int> all;
  return all;
}

struct Start {
  void* (*function)(void*);
  void* argument;
  int slot;
};

void* run_thread(void* raw) {
  const std::unique_ptr<Start> start(static_cast<Start*>(raw));
  begin_thread(start->slot);
  void* const result = start->function(start->argument);
  end_thread();
  return result;
}

/// Releases the mutex during the wait, like a condition.
int wait_on(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t deadline) {
  // The signalling thread runs only after this thread waits, so no signal is lost.
  real::mutex_unlock(mutex);
  wake(key_of(mutex));
  const bool woken = wait_for(
      {.where = "waiting for a condition", .key = key_of(condition), .deadline = deadline});
  pthread_mutex_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

std::int64_t on_machine(clockid_t clock, const timespec& time) {
  timespec now{};
  clock_gettime(clock, &now);
  return machine().now + ns_of(time) - ns_of(now);
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
  static const auto next = real::find<decltype(&::pthread_create)>("pthread_create");
  if (!scheduled()) return next(thread, attributes, function, argument);
  const int slot = add_thread(getpid());
  auto start = std::make_unique<Start>(Start{function, argument, slot});
  const int status = next(thread, attributes, run_thread, start.get());
  if (status != 0) {
    remove_thread(slot);
    return status;
  }
  (void)start.release();
  slots()[*thread] = slot;
  let_others_run();
  return 0;
}

int pthread_join(pthread_t thread, void** result) {
  static const auto next = real::find<decltype(&::pthread_join)>("pthread_join");
  if (scheduled()) {
    if (const auto found = slots().find(thread); found != slots().end()) {
      wait_for({.where = "joining a thread",
                .watched = &machine().threads[found->second].ended,
                .at_least = 1});
      slots().erase(found);
    }
  }
  return next(thread, result);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (!scheduled()) return real::mutex_lock(mutex);
  let_others_run();
  int status = 0;
  while ((status = pthread_mutex_trylock(mutex)) == EBUSY)
    wait_for({.where = "waiting for a mutex", .key = key_of(mutex)});
  return status;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  const int status = real::mutex_unlock(mutex);
  if (scheduled()) wake(key_of(mutex));
  return status;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static const auto next =
      real::find<decltype(&::pthread_cond_wait)>("pthread_cond_wait", "GLIBC_2.3.2");
  if (!scheduled()) return next(condition, mutex);
  return wait_on(condition, mutex, kNever);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  static const auto next =
      real::find<decltype(&::pthread_cond_timedwait)>("pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!scheduled()) return next(condition, mutex, until);
  return wait_on(condition, mutex, on_machine(CLOCK_REALTIME, *until));
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static const auto next =
      real::find<decltype(&::pthread_cond_clockwait)>("pthread_cond_clockwait");
  if (!scheduled()) return next(condition, mutex, clock, until);
  return wait_on(condition, mutex, on_machine(clock, *until));
}

int pthread_cond_signal(pthread_cond_t* condition) {
  static const auto next =
      real::find<decltype(&::pthread_cond_signal)>("pthread_cond_signal", "GLIBC_2.3.2");
  if (!scheduled()) return next(condition);
  wake(key_of(condition), false);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) {
  static const auto next =
      real::find<decltype(&::pthread_cond_broadcast)>("pthread_cond_broadcast", "GLIBC_2.3.2");
  if (!scheduled()) return next(condition);
  wake(key_of(condition));
  return 0;
}

}  // extern "C"
