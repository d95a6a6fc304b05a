// An exact copy of _compute_bucket_assignment_by_size (torch/csrc/distributed/c10d/reducer.cpp).
// The algorithm is the same from PyTorch 1.4 to 2.13.
//
// Tensors are taken in the given order. Each (dtype, device) has one open bucket and a cursor into
// the limits. A tensor joins its open bucket. If the bucket's bytes then reach the limit under the
// cursor, the bucket closes and the cursor advances; the last limit repeats. Tensors are never
// split and sizes are not padded, so a bucket may exceed its limit by almost its last tensor. A
// tensor with a sparse gradient becomes a bucket of its own at once.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ddpsim/sim/values/bucket.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Order of the result. PyTorch sorts by smallest index if it is called without tensor indices (at
/// construction), and keeps the order of emission if it is called with them (at the rebuild).
/// Leftover buckets of several (dtype, device) keys are emitted in the order of libstdc++'s hash
/// map.
enum class BucketOrder { by_smallest_index, as_emitted };

/// Why no buckets can be assigned (a shape is unknown, or the bytes exceed 63 bits), with the
/// option that would help. Absent if they can.
std::optional<std::string> cannot_assign(const Workload& workload);

/// Assigns the parameters in `order`, a list of indices, to buckets. Preconditions: the bytes of
/// each are known, and `limits` is not empty.
std::vector<Bucket> assign_buckets(std::span<const Parameter> parameters,
                                   std::span<const std::size_t> order,
                                   std::span<const Bytes> limits, BucketOrder result_order);

/// Buckets in launch order as the reducer builds them at construction: in definition order, with
/// the list then reversed. Ignored parameters have no bucket.
std::vector<Bucket> construction_buckets(const Workload& workload, std::span<const Bytes> limits);

/// Buckets in launch order after rebuild_buckets: in the order in which gradients become ready. If
/// no ready order was recorded, the reverse definition order is used.
std::vector<Bucket> rebuilt_buckets(const Workload& workload, std::span<const Bytes> limits);

/// Cuts `order` into buckets before each of `ends`. The ends are distinct, and the last one is the
/// size of `order`.
std::vector<Bucket> cut_buckets(const Workload& workload, std::span<const std::size_t> order,
                                std::span<const std::size_t> ends);

/// Buckets in iteration `iteration` (from 1) of a training run, in launch order.
std::vector<Bucket> buckets_of_iteration(const Workload& workload, const DdpOptions& options,
                                         TorchVersion torch, int iteration);

/// Buckets of the steady step.
std::vector<Bucket> steady_buckets(const Workload& workload, const DdpOptions& options,
                                   TorchVersion torch);

/// DDP's parameters in the order in which the model defines them.
std::vector<std::size_t> definition_order(const Workload& workload);

/// DDP's parameters in the order in which gradients become ready: as recorded, otherwise in reverse
/// definition order.
std::vector<std::size_t> ready_order(const Workload& workload);

/// Dtype that an all-reduce carries for gradients of the given dtype: their own, or the one that a
/// communication hook casts them to.
Dtype wire_dtype(const DdpOptions& options, Dtype gradients);
/// Bytes that an all-reduce carries for `bucket` bytes of gradients.
Bytes wire_bytes(const DdpOptions& options, Dtype gradients, Bytes bucket);
/// Whether the hook casts a bucket of this size.
bool casts(const DdpOptions& options, Dtype gradients, Bytes bucket);

/// Position of the first bucket whose bytes differ from `sizes`, or where one list ends before the
/// other. Absent if they are equal.
std::optional<std::size_t> first_difference(std::span<const Bucket> buckets,
                                            std::span<const Bytes> sizes);

}  // namespace ddpsim
