// Times of DDP's own kernels on the GPU: a fixed time, a gap to the next kernel, and passes over
// memory at a share of its peak bandwidth. If gradients live on the host, one of its threads does
// the same work at its copy rate. DdpCosts and GlooLinks give the sources of the numbers.
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
    // Copying a byte reads one and writes one.
    rate_ = host ? gloo->links.copy * 2
                 : costs.copy_rate.value_or(job.cluster().gpu.memory_bandwidth *
                                            costs.copy_bandwidth_share);
  }

  /// Copy into a bucket or out of it, or a division in place: one read and one write.
  Duration copy(Bytes bytes) const { return per_kernel_ + 2 * bytes / rate_; }
  /// `count` kernels that together read and write `moved` bytes.
  Duration kernels(std::int64_t count, Bytes moved) const {
    return per_kernel_ * count + moved / rate_;
  }
  /// Conversion from one type to another.
  Duration cast(Bytes from, Bytes to) const { return per_kernel_ + (from + to) / rate_; }
  /// Additional time to write to newly allocated memory, which the host maps when it is first
  /// touched. Zero on a GPU, whose allocator returns memory that it already has.
  Duration allocate(Bytes bytes) const { return fresh_ ? bytes / *fresh_ : Duration(); }
  /// Division in place.
  Duration divide(Bytes bytes, Dtype dtype) const {
    const bool by_scalar = halves_by_scalar_ && dtype == Dtype::float16;
    return copy(bytes) + (by_scalar ? bytes / kScalarHalves : Duration());
  }
  bool on_host() const { return fresh_.has_value(); }
  /// Addition to an existing gradient: two reads, one write.
  Duration accumulate(Bytes bytes) const { return per_kernel_ + 3 * bytes / rate_; }
  /// Zeroing the slice of a parameter without a gradient: one write.
  Duration zero_fill(Bytes bytes) const { return per_kernel_ + bytes / rate_; }
  /// One kernel flattens the buffers of a dtype for the broadcast.
  Duration flatten(const BufferGroup& group) const { return copy(group.bytes); }
  /// One kernel per buffer copies them back.
  Duration unflatten(const BufferGroup& group) const {
    return per_kernel_ * group.tensors + 2 * group.bytes / rate_;
  }

 private:
  /// From this version on, float16 arithmetic on a processor uses vector instructions
  /// (pytorch/pytorch#96076). Before, a division takes 2 ns per element (1.13, one core of an
  /// EPYC); with 2.13 it takes 0.2 ns.
  static constexpr TorchVersion kVectorHalves{2, 1};
  static constexpr Bandwidth kScalarHalves = Bandwidth::gigabytes_per_second(1);

  Duration per_kernel_;
  Bandwidth rate_;
  /// Rate into new memory of the host. Absent on a GPU.
  std::optional<Bandwidth> fresh_;
  bool halves_by_scalar_ = false;
};

}  // namespace ddpsim
