// Times that arise because a part of the model stays on the host: copies over PCIe, and work of the
// host's processor.
#pragma once

#include <cstdint>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/cpu_offload.hpp"
#include "ddpsim/sim/values/data_loader.hpp"

namespace ddpsim {

class OffloadCosts {
 public:
  OffloadCosts(const Job& job, const CpuOffload& offload)
      : offload_(offload),
        optimizer_(job.options().optimizer.kind),
        each_(job.options().costs.copy_kernel + job.options().costs.kernel_gap),
        pcie_(offload.pcie.value_or(kHostCopy)) {}

  /// Copies of `tensors` tensors, one after the other, with `bytes` bytes in total, in either
  /// direction.
  Duration copies(std::int64_t tensors, Bytes bytes) const {
    return each_ * tensors + bytes / pcie_;
  }
  /// The optimizer's step on the host for parameters of `parameters` bytes.
  Duration step(Bytes parameters) const {
    return moves(bytes_stepped(optimizer_, offload_.fused, parameters));
  }
  /// Work of the host that reads and writes `bytes` bytes.
  Duration moves(Bytes bytes) const { return bytes / offload_.cpu_rate; }

 private:
  const CpuOffload& offload_;
  const Optimizer optimizer_;
  const Duration each_;
  const Bandwidth pcie_;
};

}  // namespace ddpsim
