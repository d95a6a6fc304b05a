// What DDP's own kernels take on the GPU: a fixed time, a gap to the next kernel, and passes over memory
// at a share of its peak bandwidth. DdpCosts says where the figures come from.
#pragma once

#include <cstdint>

#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/simulation_options.hpp"

namespace ddpsim {

class KernelCosts {
 public:
  KernelCosts(const DdpCosts& costs, const GpuModel& gpu)
      : per_kernel_(costs.copy_kernel + costs.kernel_gap),
        rate_(gpu.memory_bandwidth * costs.copy_bandwidth_share) {}

  /// Into a bucket or out of it, also a division in place: read and write.
  Duration copy(Bytes bytes) const { return per_kernel_ + 2 * bytes / rate_; }
  /// From one type into another.
  Duration cast(Bytes from, Bytes to) const { return per_kernel_ + (from + to) / rate_; }
  /// Adding into a gradient that is there: two reads, one write.
  Duration accumulate(Bytes bytes) const { return per_kernel_ + 3 * bytes / rate_; }
  /// The slice of a parameter that took no part: one write.
  Duration zero_fill(Bytes bytes) const { return per_kernel_ + bytes / rate_; }
  /// One kernel flattens a dtype's buffers for the broadcast …
  Duration flatten(const BufferGroup& group) const { return copy(group.bytes); }
  /// … and one per buffer copies back.
  Duration unflatten(const BufferGroup& group) const {
    return per_kernel_ * group.tensors + 2 * group.bytes / rate_;
  }

 private:
  Duration per_kernel_;
  Bandwidth rate_;
};

}  // namespace ddpsim
