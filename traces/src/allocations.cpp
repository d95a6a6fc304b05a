#include "allocations.hpp"

#include <algorithm>

namespace ddpsim {

void Allocations::add(const TraceEvent& event) {
  constexpr std::int64_t kCuda = 1;  // c10::DeviceType, also with ROCm
  constexpr std::int64_t kMost = std::int64_t{1} << 44;
  if (event.device_type != kCuda || !event.bytes || *event.bytes > kMost || *event.bytes < -kMost)
    return;
  if (!device_) device_ = event.device.value_or(0);
  if (event.device.value_or(0) == *device_) changes_.push_back({event.start_ns, *event.bytes});
}

void Allocations::finish() {
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
}

std::optional<Bytes> Allocations::grown(std::int64_t from_ns, std::int64_t to_ns) const {
  std::int64_t level = 0;
  std::int64_t least = 0;
  bool any = false;
  for (auto change = std::partition_point(changes_.begin(), changes_.end(),
                                          [&](const Change& one) { return one.at_ns < from_ns; });
       change != changes_.end() && change->at_ns < to_ns; ++change) {
    any = true;
    if (__builtin_add_overflow(level, change->bytes, &level)) return std::nullopt;
    least = std::min(least, level);
  }
  std::int64_t grown = 0;
  if (!any || __builtin_sub_overflow(level, least, &grown)) return std::nullopt;
  return Bytes(grown);
}

}  // namespace ddpsim
