#include "real_calls.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include "settings.hpp"
#include "thread_sanitizer.hpp"

namespace simulated_gpu::real {

void* next_definition(const char* name, const char* version) {
  void* found = version != nullptr && !thread_sanitizer_is_here() ? dlvsym(RTLD_NEXT, name, version)
                                                                  : dlsym(RTLD_NEXT, name);
  if (found == nullptr) give_up("the C library has no %s", name);
  return found;
}

void* definition_in_c_library(const char* name) {
  static void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* const found = dlsym(library, name);
  if (found == nullptr) give_up("the C library has no %s", name);
  return found;
}

int clock_gettime(clockid_t clock, timespec* time) {
  static const auto next = find<decltype(&::clock_gettime)>("clock_gettime");
  return next(clock, time);
}
int nanosleep(const timespec* wanted, timespec* left) {
  static const auto next = find<decltype(&::nanosleep)>("nanosleep");
  return next(wanted, left);
}
int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* left) {
  static const auto next = find<decltype(&::clock_nanosleep)>("clock_nanosleep");
  return next(clock, flags, wanted, left);
}
int poll(pollfd* descriptors, nfds_t count, int timeout) {
  static const auto next = find<decltype(&::poll)>("poll");
  return next(descriptors, count, timeout);
}
int close(int descriptor) {
  static const auto next = find<decltype(&::close)>("close");
  return next(descriptor);
}
int mutex_lock(pthread_mutex_t* mutex) {
  static const auto next = find<decltype(&::pthread_mutex_lock)>("pthread_mutex_lock");
  return next(mutex);
}
int mutex_unlock(pthread_mutex_t* mutex) {
  static const auto next = find<decltype(&::pthread_mutex_unlock)>("pthread_mutex_unlock");
  return next(mutex);
}

}  // namespace simulated_gpu::real
