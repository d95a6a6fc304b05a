// What of a sharded step stays in the memory of its host: FSDP's CPUOffload(offload_params=True), fully_shard's
// CPUOffloadPolicy, DeepSpeed's offload_optimizer and offload_param with device "cpu". Memory is pinned, as all of them have it
// by default.
#pragma once

#include <optional>

#include "ddpsim/sim/values/optimizer.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Bytes that an optimizer on the host reads and writes in a second, of a rank whose OpenMP has one thread: torchrun sets
/// OMP_NUM_THREADS=1 where it starts several ranks. One core of an EPYC with nothing beside it, PyTorch 2.13: 25 GB/s of AdamW,
/// which its square roots bound, 57 of SGD, 61 of fused AdamW; cores of older servers read 10 to 15.
inline constexpr Bandwidth kOneThreadOfHost = Bandwidth::gigabytes_per_second(20);
/// … and of one with threads enough: an eighth of what two sockets with eight channels of DDR4-3200 each reach of their
/// 410 GB/s, where eight GPUs are all at it.
inline constexpr Bandwidth kShareOfHost = Bandwidth::gigabytes_per_second(40);
/// What either may be: a third as long, or twice.
inline constexpr double kHostRateMost = 3;
inline constexpr double kHostRateLeast = 0.5;

struct CpuOffload {
  bool optimizer = false;   ///< gradients go to the host as they are reduced, and it steps there
  bool parameters = false;  ///< shards are copied from there whenever they are gathered
  /// One pass over all it reads and writes: torch.optim's fused=True, DeepSpeedCPUAdam. Else a pass for each update, as
  /// torch.optim has it on CPUs.
  bool fused = false;
  Bandwidth cpu_rate = kOneThreadOfHost;
  bool cpu_rate_assumed = true;  ///< nobody said it
  std::optional<Bandwidth>
      pcie;  ///< of each GPU and direction, while all of a node copy; absent: kHostCopy

  bool any() const { return optimizer || parameters; }
  bool operator==(const CpuOffload&) const = default;
};

/// That stepping a parameter of one element reads and writes, where all is of `element` bytes: torch/optim/sgd.py, adam.py and
/// adamw.py of 2.13, single tensors; fused once each gradient, parameter and moment, and all but the gradient back.
Bytes bytes_stepped(Optimizer optimizer, bool fused, Bytes element);

}  // namespace ddpsim
