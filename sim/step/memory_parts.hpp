// What memory under DDP and under every other scheme is counted from: the allocator, an optimizer's state, what is held of
// activations, NCCL's buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

inline constexpr std::int64_t kMiB = 1 << 20;

/// zero_grad() sets gradients to None by default, and optimizers run foreach kernels on GPUs.
inline constexpr TorchVersion kGradientsFreed = {2, 0};

/// c10/cuda/CUDACachingAllocator.cpp.
class Allocator {
 public:
  explicit Allocator(bool on_host) : on_host_(on_host) {}

  void allocate(Bytes tensor);
  Bytes rounding() const { return Bytes(rounding_); }
  Bytes segments() const;

 private:
  bool on_host_;
  std::int64_t rounding_ = 0;
  std::int64_t small_ = 0;
  std::int64_t medium_ = 0;
  std::int64_t rest_of_large_ = 0;
};

/// Gradients live there: nothing is rounded.
bool on_host(const Job& job);

/// What the optimizer makes of parameters of one type.
struct OptimizerBytes {
  Bytes state;
  Bytes masters;  ///< and their gradient takes as much, while it steps
};
OptimizerBytes optimizer_bytes(const OptimizerSetting& setting, Dtype dtype, Bytes parameters);

/// A workload's activations through backward.
class HeldActivations {
 public:
  explicit HeldActivations(const Workload& workload) : workload_(workload) {}

  /// Entry by entry; else an equal share is let go with each.
  bool known() const { return workload_.activations && !workload_.activations->held.empty(); }
  /// At most, up to entry `k` of those written.
  Bytes held(std::size_t k) const;
  /// What backward leaves of it.
  Bytes left() const { return known() ? workload_.activations->held.back() : Bytes(); }

 private:
  const Workload& workload_;
};

/// What each receiving end holds: buffers of the three protocols (init.cc, computeBuffSizes, and device.h: LL 512 KiB,
/// LL128 4.7 MiB, Simple 4 MiB). A channel receives from its neighbours in ring and tree: two within a node, four
/// where its tree crosses nodes. NCCL's defaults, not measured here.
Bytes nccl_buffers(const Job& among);

}  // namespace ddpsim
