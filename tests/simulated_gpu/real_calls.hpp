// The functions of the C library, or of a thread sanitizer in front of it, behind the interposed
// ones.
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

/// The next definition of `name` after this library's. Ends the process if there is none. A
/// sanitizer's definition has no version.
void* next_definition(const char* name, const char* version = nullptr);
/// The C library's definition, even if another library is in front of it.
void* definition_in_c_library(const char* name);

/// Usage: real::find<decltype(&::send)>("send")(…)
template <typename Function>
Function find(const char* name, const char* version = nullptr) {
  return reinterpret_cast<Function>(next_definition(name, version));
}
template <typename Function>
Function find_in_c_library(const char* name) {
  return reinterpret_cast<Function>(definition_in_c_library(name));
}

}  // namespace simulated_gpu::real
