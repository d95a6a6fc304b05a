// What DDP's own kernels take on the GPU: a fixed time, a gap to the next kernel, and passes over memory
// at a share of its peak bandwidth. Of gradients that live on the host a thread of it does the same, at the rate
// it copies at. DdpCosts and GlooLinks say where the figures come from.
#pragma once

#include <optional>
#include <variant>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

class KernelCosts {
 public:
  explicit KernelCosts(const Job& job) {
    const DdpCosts& costs = job.options().costs;
    const GlooModel* gloo = std::get_if<GlooModel>(&job.model());
    const bool host = gloo != nullptr && gloo->links.host_tensors;
    per_kernel_ = host ? costs.host_copy : costs.copy_kernel + costs.kernel_gap;
    if (host) fresh_ = gloo->links.fresh;
    halves_by_scalar_ = host && job.options().torch < kVectorHalves;
    // A byte copied is one read and one written.
    rate_ = host ? gloo->links.copy * 2
                 : costs.copy_rate.value_or(job.cluster().gpu.memory_bandwidth *
                                            costs.copy_bandwidth_share);
  }

  /// Into a bucket or out of it, also a division in place: read and write.
  Duration copy(Bytes bytes) const { return per_kernel_ + 2 * bytes / rate_; }
  /// So many kernels that read and write so much together.
  Duration kernels(std::int64_t count, Bytes moved) const {
    return per_kernel_ * count + moved / rate_;
  }
  /// From one type into another.
  Duration cast(Bytes from, Bytes to) const { return per_kernel_ + (from + to) / rate_; }
  /// Beside what it takes to write so much: the host maps memory that was just allocated when it is touched. A GPU's
  /// allocator hands out what it has.
  Duration allocate(Bytes bytes) const { return fresh_ ? bytes / *fresh_ : Duration(); }
  /// In place.
  Duration divide(Bytes bytes, Dtype dtype) const {
    const bool by_scalar = halves_by_scalar_ && dtype == Dtype::float16;
    return copy(bytes) + (by_scalar ? bytes / kScalarHalves : Duration());
  }
  bool on_host() const { return fresh_.has_value(); }
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
  /// Arithmetic of float16 on a processor has vector instructions since then (pytorch/pytorch#96076); before, a division
  /// takes 2 ns an element (1.13, one core of an EPYC; 0.2 ns by 2.13).
  static constexpr TorchVersion kVectorHalves{2, 1};
  static constexpr Bandwidth kScalarHalves = Bandwidth::gigabytes_per_second(1);

  Duration per_kernel_;
  Bandwidth rate_;
  std::optional<Bandwidth> fresh_;  ///< of the host; absent on a GPU
  bool halves_by_scalar_ = false;
};

}  // namespace ddpsim
