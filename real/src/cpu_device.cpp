#include "cpu_device.hpp"

#include <sys/utsname.h>

#include <cstring>
#include <ctime>
#include <span>
#include <type_traits>

#include "cpu_elements.hpp"

namespace ddpsim {
namespace {

template <typename T>
void scale(std::span<T> from, Region to, double factor) {
  // The 16-bit types are computed in float, as in PyTorch.
  using Value = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Value by = static_cast<Value>(factor);
  T* out = reinterpret_cast<T*>(to.data);
  for (std::size_t i = 0; i < from.size(); ++i)
    out[i] = static_cast<T>(static_cast<Value>(from[i]) * by);
}

template <typename T>
void add_to(std::span<T> from, Region to) {
  T* out = reinterpret_cast<T*>(to.data);
  for (std::size_t i = 0; i < from.size(); ++i) out[i] += from[i];
}

/// Each round depends on the previous one.
void work(std::int64_t rounds) {
  volatile double kept = 1;
  double value = kept;
  for (std::int64_t i = 0; i < rounds; ++i) value = value * 0.999 + 1.0;
  kept = value;
}

/// Time that this thread has run on a core.
Duration thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  constexpr std::int64_t kPerNanosecond = 1000;
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return Duration::picoseconds((time.tv_sec * kNanoseconds + time.tv_nsec) * kPerNanosecond);
}

}  // namespace

CpuDevice::CpuDevice(HostClock clock, bool busy) : clock_(clock) {
  ask_for_sharp_timers();
  if (!busy) return;
  work_rate_ = WorkRate::calibrated([](std::int64_t rounds) {
    const Duration begin = thread_time();
    work(rounds);
    return thread_time() - begin;
  });
}

std::vector<std::pair<std::string, std::string>> CpuDevice::description() const {
  utsname system{};
  uname(&system);
  return {{"device",
           work_rate_
               ? "CPU; compute is an amount of work, calibrated on an idle machine, copies are real"
               : "CPU; compute is a wait until a deadline, copies are real"},
          {"kernel", std::string(system.sysname) + " " + system.release + " " + system.machine}};
}

std::string CpuDevice::refuses(Dtype dtype) {
  if (dtype == Dtype::float32 || dtype == Dtype::float64) return "";
  return "on a CPU gradients are float32 or float64, not " + std::string(name_of(dtype));
}

Region CpuDevice::allocate(Dtype dtype, std::int64_t elements) {
  const auto bytes = static_cast<std::size_t>(elements * element_size(dtype));
  memory_.push_back(std::make_unique<std::byte[]>(bytes));
  std::memset(memory_.back().get(), 0, bytes);  // touches the pages before anything is timed
  return {memory_.back().get(), elements, dtype};
}

void CpuDevice::fill(Region region, double value) {
  with_elements(region, [value](auto elements) {
    for (auto& element : elements) {
      element = static_cast<std::remove_reference_t<decltype(element)>>(value);
    }
  });
}

std::vector<double> CpuDevice::read(Region region) {
  std::vector<double> values;
  with_elements(region, [&values](auto elements) {
    for (const auto element : elements) values.push_back(static_cast<double>(element));
  });
  return values;
}

void CpuDevice::begin_compute() {
  deadline_ = clock_.now();
}

void CpuDevice::compute(Duration duration) {
  if (work_rate_) return work(work_rate_->rounds(duration));
  deadline_ = deadline_ + duration;
  sleep_until(clock_, deadline_);
}

void CpuDevice::scale_copy(Region from, Region to, double factor) {
  with_elements(from, [to, factor](auto elements) { scale(elements, to, factor); });
}

void CpuDevice::add(Region from, Region to) {
  with_elements(from, [to](auto elements) { add_to(elements, to); });
}

void CpuDevice::copy(Region from, Region to) {
  std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes().count()));
}

void CpuDevice::cast(Region from, Region to) {
  cast_elements(from, to);
}

Event CpuDevice::record_event() {
  events_.push_back(clock_.now());
  return events_.size() - 1;
}

TimePoint CpuDevice::time_of(Event event) {
  return events_[event];
}

}  // namespace ddpsim
