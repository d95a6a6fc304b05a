// Clocks and sleeps of the program use the machine's time.
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "real_calls.hpp"
#include "scheduler.hpp"

using namespace simulated_gpu;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kCurrent = 1'780'000'000 * kSecond;  // calendar time when the machine booted

bool machines(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME;
}

std::int64_t offset_of(clockid_t clock) {
  return clock == CLOCK_REALTIME ? kCurrent : 0;
}

void sleep_until_ns(std::int64_t instant) {
  wait_for({.where = "a sleep", .deadline = std::max(instant, machine().now)});
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) {
  if (!scheduled() || !machines(clock)) return real::clock_gettime(clock, time);
  wait_for({.where = "reading a clock", .deadline = machine().now + machine().settings.clock_ns});
  const std::int64_t ns = machine().now + offset_of(clock);
  *time = {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
  return 0;
}

time_t time(time_t* result) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

int nanosleep(const timespec* wanted, timespec* left) {
  if (!scheduled()) return real::nanosleep(wanted, left);
  sleep_until_ns(machine().now + ns_of(*wanted));
  return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* left) {
  if (!scheduled() || !machines(clock)) return real::clock_nanosleep(clock, flags, wanted, left);
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  sleep_until_ns(ns_of(*wanted) + (absolute ? -offset_of(clock) : machine().now));
  return 0;
}

int usleep(useconds_t us) {
  constexpr long kMicrosecond = 1000;
  const timespec wanted{static_cast<time_t>(us / 1'000'000),
                        static_cast<long>(us % 1'000'000) * kMicrosecond};
  return nanosleep(&wanted, nullptr);
}

int sched_yield() {
  if (!scheduled()) {
    static const auto next = real::find<decltype(&::sched_yield)>("sched_yield");
    return next();
  }
  wait_for({.where = "a yield", .deadline = machine().now + machine().settings.clock_ns});
  return 0;
}

}  // extern "C"
