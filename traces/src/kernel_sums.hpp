// Adds up a trace's kernels by kind, one event at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ddpsim/traces/kernel_kinds.hpp"
#include "trace_event.hpp"

namespace ddpsim {

class KernelSums {
 public:
  void add(const TraceEvent& event);
  /// Absent if no kernel ran.
  std::optional<KernelTimes> by_step() const;

 private:
  std::array<std::int64_t, kKernelKinds> ns_{};
  std::array<std::int64_t, kKernelKinds> count_{};
  std::int64_t steps_ = 0;
};

}  // namespace ddpsim
