// What the C library itself does, behind the functions that are interposed.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include <cstddef>

namespace simulated_gpu::real {

int clock_gettime(clockid_t clock, timespec* time);
int nanosleep(const timespec* wanted, timespec* left);
int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* left);
int poll(pollfd* descriptors, nfds_t count, int timeout);
int close(int descriptor);
int mutex_lock(pthread_mutex_t* mutex);
int mutex_unlock(pthread_mutex_t* mutex);

/// The next definition of `name` after this library's; ends the process where there is none.
void* next_definition(const char* name, const char* version = nullptr);

/// real::find<decltype(&::send)>("send")(…)
template <typename Function>
Function find(const char* name, const char* version = nullptr) {
  return reinterpret_cast<Function>(next_definition(name, version));
}

}  // namespace simulated_gpu::real
