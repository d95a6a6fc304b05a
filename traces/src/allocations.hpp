// Memory that the profiler saw allocated and freed on the GPU (profile_memory=True).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "ddpsim/sim/values/quantities.hpp"
#include "trace_event.hpp"

namespace ddpsim {

class Allocations {
 public:
  /// Adds an allocation on the first GPU that is seen. Other GPUs are ignored.
  void add(const TraceEvent& event);
  /// Sorts the allocations by time. Call this once, before the first query.
  void finish();

  /// Memory at `to_ns` minus the least memory since `from_ns`. From the start of a step to the
  /// host's call of backward, this is what forward keeps for backward; gradients may be freed
  /// first. Absent if nothing was recorded in between.
  std::optional<Bytes> grown(std::int64_t from_ns, std::int64_t to_ns) const;

 private:
  struct Change {
    std::int64_t at_ns;
    std::int64_t bytes;  ///< negative: freed
  };
  std::deque<Change> changes_;
  std::optional<std::int64_t> device_;
};

}  // namespace ddpsim
