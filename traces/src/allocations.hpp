// What the profiler saw allocated and freed on the GPU (profile_memory=True).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "ddpsim/sim/values/quantities.hpp"
#include "trace_event.hpp"

namespace ddpsim {

class Allocations {
 public:
  /// Of the GPU that is seen first; others are left out.
  void add(const TraceEvent& event);
  /// Puts them into order of time. Once, before the first question.
  void finish();

  /// By how much more was allocated at `to_ns` than at the least since `from_ns`: from the start of a step, in which
  /// gradients may be freed first, to the host's call of backward, what forward keeps for it. Absent where nothing was
  /// recorded in between.
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
