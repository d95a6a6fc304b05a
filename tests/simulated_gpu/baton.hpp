// What the scheduler and the lives of threads and processes share.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "machine.hpp"

namespace simulated_gpu {

constexpr int kNobody = -1;
inline thread_local int slot_of_this_thread = kNobody;

inline Thread& thread_at(int slot) {
  return machine().threads[slot];
}

void make_ready(Thread& thread);
/// Until this thread may run.
void await_baton();
/// Whoever calls this does not run any more.
void pass_baton();
/// Returns when the kernel has let others know, too.
void wait_until_gone(pid_t pid);

std::int64_t host_ns();
/// Of the free-running clock, and of those who join.
void lock_machine();
void unlock_machine();

}  // namespace simulated_gpu
