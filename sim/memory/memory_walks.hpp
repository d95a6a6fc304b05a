// Walks through a rank's step and tracks its memory, by what its scheme keeps.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "ddpsim/sim/memory/memory.hpp"
#include "kept_in_memory.hpp"

namespace ddpsim {

/// Sets moments, parts, activations, rounding, segments and what stays on the host. The rest is the
/// same for all schemes.
PeakMemory peak_of(const Job& job, const ReducerBuckets& kept);
PeakMemory peak_of(const Job& job, const ShardedUnits& kept);
PeakMemory peak_of(const Job& job, const WholeTensors& kept);
PeakMemory peak_of(const Job& job, const MixedPrecision& kept);

/// Finds the largest memory of a step over its moments. PyTorch's allocator returns a block only to
/// the stream that requested it. `beside` is the part of `parts` that a stream other than compute's
/// holds. Its largest value stays occupied even when compute's stream has its own largest value.
class Highest {
 public:
  void see(const MemoryParts& parts, PeakMoment at, Bytes beside = {}) {
    const Bytes known = parts.known();
    if (at == PeakMoment::backward && !by_gradient_.empty())
      by_gradient_.back() = std::max(by_gradient_.back(), known);
    most_beside_ = std::max(most_beside_, beside);
    most_computing_ = std::max(most_computing_, known - beside);
    note(parts, at);
    if (seen_ && known <= parts_.known()) return;
    seen_ = true;
    parts_ = parts;
    at_ = at;
  }
  /// From here on, backward computes the next gradient.
  void next_gradient() { by_gradient_.push_back(Bytes()); }
  /// Only for the list of moments. Backward begins with what forward leaves, so the end of forward
  /// is no peak.
  void note(const MemoryParts& parts, PeakMoment at) {
    if (moments_.empty() || moments_.back().at != at)
      moments_.push_back({.at = at, .parts = parts});
    else if (parts.known() > moments_.back().parts.known())
      moments_.back().parts = parts;
  }
  PeakMemory take() && {
    PeakMemory peak{.at = at_, .parts = parts_, .moments = std::move(moments_)};
    peak.by_gradient = std::move(by_gradient_);
    return peak;
  }
  /// Memory beyond the largest moment, because streams do not lend each other what they free.
  Bytes apart() const { return most_computing_ + most_beside_ - parts_.known(); }

 private:
  bool seen_ = false;
  std::vector<MemoryMoment> moments_;
  std::vector<Bytes> by_gradient_;
  MemoryParts parts_;
  PeakMoment at_ = PeakMoment::backward;
  Bytes most_beside_;
  Bytes most_computing_;
};

}  // namespace ddpsim
