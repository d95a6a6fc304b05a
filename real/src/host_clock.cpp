#include "host_clock.hpp"

#include <sys/prctl.h>

#include <cerrno>
#include <ctime>

namespace ddpsim {
namespace {
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
}

std::int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * kNanosecondsPerSecond + time.tv_nsec;
}

void sleep_until(const HostClock& clock, TimePoint instant) {
  const std::int64_t ns = clock.local_ns(instant);
  if (ns <= monotonic_ns()) return;
  timespec time{};
  time.tv_sec = static_cast<std::time_t>(ns / kNanosecondsPerSecond);
  time.tv_nsec = static_cast<long>(ns % kNanosecondsPerSecond);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

void ask_for_sharp_timers() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

}  // namespace ddpsim
