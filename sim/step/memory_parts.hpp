// Parts of a rank's memory under DDP and every other scheme: the allocator's rounding, an optimizer's
// state, activations and NCCL's buffers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

inline constexpr std::int64_t kMiB = 1 << 20;

/// From this version on, zero_grad() sets gradients to None by default, and optimizers run foreach
/// kernels on GPUs.
inline constexpr TorchVersion kGradientsFreed = {2, 0};

/// Rounding and segments of c10/cuda/CUDACachingAllocator.cpp.
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

/// Whether gradients live on the host, so that nothing is rounded.
bool on_host(const Job& job);

/// Memory of the optimizer for parameters of one type.
struct OptimizerBytes {
  Bytes state;
  /// Master weights. While the optimizer runs, their gradients take the same memory once more.
  Bytes masters;
};
OptimizerBytes optimizer_bytes(const OptimizerSetting& setting, Dtype dtype, Bytes parameters);

/// A workload's activations during backward.
class HeldActivations {
 public:
  /// `in_half`: whether a scheme hands parameters over in 16 bits.
  explicit HeldActivations(const Workload& workload, bool in_half = false)
      : kept_(in_half && workload.activations_in_half ? workload.activations_in_half
                                                      : workload.activations),
        entries_(workload.backward->ready.size()) {}
  /// `entries`: gradients that backward writes.
  HeldActivations(const std::optional<Activations>& kept, std::size_t entries)
      : kept_(kept), entries_(entries) {}
  const std::optional<Activations>& all() const { return kept_; }

  /// Whether they are known entry by entry. Otherwise an equal share is freed with each entry.
  bool known() const { return kept_ && !kept_->held.empty(); }
  /// At the end of forward.
  Bytes kept() const { return kept_ ? kept_->bytes : Bytes(); }
  /// Peak up to entry `k` of the gradients written.
  Bytes held(std::size_t k) const;
  /// What is left after backward.
  Bytes left() const { return known() ? kept_->held.back() : Bytes(); }

 private:
  const std::optional<Activations>& kept_;
  std::size_t entries_;  ///< gradients that backward writes
};

/// NCCL's buffers, held by each receiving end for the three protocols: LL 512 KiB, LL128 4.7 MiB,
/// Simple 4 MiB (init.cc, computeBuffSizes, and device.h). A channel receives from its neighbours
/// in ring and tree: two within a node, four if its tree crosses nodes. These are NCCL's defaults,
/// not measured here.
Bytes nccl_buffers(const Job& among);

}  // namespace ddpsim
