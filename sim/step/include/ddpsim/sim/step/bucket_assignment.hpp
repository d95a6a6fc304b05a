// _compute_bucket_assignment_by_size, exactly (torch/csrc/distributed/c10d/reducer.cpp; the
// algorithm is the same from PyTorch 1.4 to 2.13).
//
// Tensors are taken in the given order. Each (dtype, device) has one open bucket and a cursor into
// the limits. A tensor joins its open bucket; if the bucket's bytes are then >= the limit under the
// cursor, the bucket closes and the cursor advances (the last limit repeats). Tensors are never
// split and sizes are not padded, so a bucket may exceed its limit by almost its last tensor. A
// tensor with a sparse gradient is emitted at once as a bucket of its own.
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

/// Order of the result. PyTorch sorts by smallest index when called without tensor indices (at
/// construction) and keeps emission order when called with them (at the rebuild). Leftover buckets
/// of several (dtype, device) keys, whose order PyTorch leaves open, are ordered by first member.
enum class BucketOrder { by_smallest_index, as_emitted };

/// Why no buckets can be assigned (a shape is not known, the bytes leave 63 bits), with the option that
/// would help; absent when they can.
std::optional<std::string> cannot_assign(const Workload& workload);

/// `order` lists parameter indices; every one must have known bytes. `limits` must not be empty.
std::vector<Bucket> assign_buckets(std::span<const Parameter> parameters,
                                   std::span<const std::size_t> order,
                                   std::span<const Bytes> limits, BucketOrder result_order);

/// Buckets in launch order as the reducer builds them at construction: definition order, then the
/// list reversed. Ignored parameters have no bucket.
std::vector<Bucket> construction_buckets(const Workload& workload, std::span<const Bytes> limits);

/// Buckets in launch order after rebuild_buckets: gradient-ready order. Without recorded ready
/// order, reverse definition order stands in.
std::vector<Bucket> rebuilt_buckets(const Workload& workload, std::span<const Bytes> limits);

/// `order` cut before each of `ends`, the last of which is its size; no two ends are the same.
std::vector<Bucket> cut_buckets(const Workload& workload, std::span<const std::size_t> order,
                                std::span<const std::size_t> ends);

/// Buckets that iteration `iteration` (from 1) of a training run launches.
std::vector<Bucket> buckets_of_iteration(const Workload& workload, const DdpOptions& options,
                                         TorchVersion torch, int iteration);

/// Buckets of the steady step.
std::vector<Bucket> steady_buckets(const Workload& workload, const DdpOptions& options,
                                   TorchVersion torch);

/// DDP's parameters as the model defines them.
std::vector<std::size_t> definition_order(const Workload& workload);

/// DDP's parameters in gradient-ready order (recorded, or reverse definition order).
std::vector<std::size_t> ready_order(const Workload& workload);

/// What an all-reduce of such gradients carries: their own type, or the one a communication hook
/// casts them to.
Dtype wire_dtype(const DdpOptions& options, Dtype gradients);
/// Bytes it carries for so many of gradients.
Bytes wire_bytes(const DdpOptions& options, Dtype gradients, Bytes bucket);
/// Whether the hook casts a bucket of so many bytes.
bool casts(const DdpOptions& options, Dtype gradients, Bytes bucket);

/// Position of the first bucket whose bytes are not those of `sizes`, or where one list ends before
/// the other; absent where they are alike.
std::optional<std::size_t> first_difference(std::span<const Bucket> buckets,
                                            std::span<const Bytes> sizes);

}  // namespace ddpsim
