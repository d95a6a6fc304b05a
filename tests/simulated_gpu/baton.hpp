// Functions shared by the scheduler and the code that starts and ends threads and processes.
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
/// Blocks until this thread may run.
void await_baton();
/// The caller stops running.
void pass_baton();
/// Returns once the kernel has reported the end to others.
void wait_until_gone(pid_t pid);

std::int64_t host_ns();
/// Used with the free-running clock and by processes that join.
void lock_machine();
void unlock_machine();

}  // namespace simulated_gpu
