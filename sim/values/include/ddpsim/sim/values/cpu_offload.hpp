// Which parts of a sharded step stay in the memory of its host: FSDP's
// CPUOffload(offload_params=True), fully_shard's CPUOffloadPolicy, DeepSpeed's offload_optimizer
// and offload_param with device "cpu". The memory is pinned, the default of all of them.
#pragma once

#include <optional>

#include "ddpsim/sim/values/optimizer.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Bytes per second that an optimizer on the host reads and writes, for one rank whose OpenMP has
/// one thread. torchrun sets OMP_NUM_THREADS=1 if it starts several ranks. Measured on one core of
/// an otherwise idle EPYC with PyTorch 2.13: 25 GB/s with AdamW, limited by its square roots, 57
/// with SGD, 61 with fused AdamW. Cores of older servers read 10 to 15.
inline constexpr Bandwidth kOneThreadOfHost = Bandwidth::gigabytes_per_second(20);
/// Bytes per second that an optimizer on the host reads and writes, for a rank with enough threads
/// while eight GPUs share the host. It is an eighth of what two sockets reach, of a peak of 410
/// GB/s with eight channels of DDR4-3200 each.
inline constexpr Bandwidth kShareOfHost = Bandwidth::gigabytes_per_second(40);
/// Range of both rates, as factors on the optimizer's time on the host.
inline constexpr double kHostRateMost = 3;
inline constexpr double kHostRateLeast = 0.5;

struct CpuOffload {
  /// Reduced gradients go to the host, and the optimizer steps there.
  bool optimizer = false;
  /// Shards are copied from the host whenever they are gathered.
  bool parameters = false;
  /// True: the optimizer reads and writes everything in one pass (torch.optim's fused=True,
  /// DeepSpeedCPUAdam). False: it makes one pass per update, as torch.optim does on CPUs.
  bool fused = false;
  Bandwidth cpu_rate = kOneThreadOfHost;
  bool cpu_rate_assumed = true;  ///< the user stated no rate
  /// Rate of each GPU and direction while all GPUs of a node copy. Absent: kHostCopy.
  std::optional<Bandwidth> pcie;

  bool any() const { return optimizer || parameters; }
  bool operator==(const CpuOffload&) const = default;
};

}  // namespace ddpsim
