// Bytes that a sharded FSDP unit holds and sends, including padding. A shard is the padded unit
// divided by the number of ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "ddpsim/sim/values/workload.hpp"
#include "units.hpp"

namespace ddpsim {

struct UnitSizes {
  Bytes whole;  ///< unpadded, as stored
  /// Shard of the parameters, in the stored type, which the optimizer steps.
  Bytes stored;
  Bytes gathered;  ///< all-gather, in the compute type
  Bytes gradient;  ///< unsharded, unpadded, in the compute type
  Bytes reduced;   ///< reduce-scatter, in the reduction type
  Bytes unpadded;  ///< `reduced` without padding

  /// The part of one rank.
  Bytes gathered_shard(int ranks) const { return Bytes(gathered.count() / ranks); }
  Bytes reduced_shard(int ranks) const { return Bytes(reduced.count() / ranks); }
};

/// Dtype of a unit's parameters, which all have the same one.
Dtype stored_type(const Workload& workload, const Unit& unit);
/// Elements of the parameter, and so of its gradient.
std::int64_t elements_of(const Parameter& parameter);
std::int64_t padded_to(std::int64_t multiple_of, std::int64_t count);

/// Whether gradients are divided before and after their sum over the ranks. FSDP divides by about
/// the root of the number of ranks before, and by the rest after, so that half precision neither
/// overflows nor underflows (_get_gradient_predivide_factor, _get_gradient_divide_factors).
struct GradientDivision {
  bool before;
  bool after;
};
GradientDivision divided_in_two(int ranks);

/// part / whole, at most 1: padding is no work. 1 if `whole` is zero.
double share_of(Bytes part, Bytes whole);

/// Layout of one flat tensor of all parameters (torch/distributed/fsdp/_flat_param.py, 2.13). Each
/// of `shards` ranks holds one shard, and the tensor is padded to a multiple of them. With
/// use_orig_params, each parameter begins at a multiple of 16 bytes of the compute type, and the
/// tensor is padded to the `group` even if it is not sharded.
struct FlatLayout {
  int shards = 1;
  int group = 1;
  bool use_orig_params = false;
};
UnitSizes flat_unit(const Workload& workload, const Unit& unit, const FlatLayout& layout,
                    std::optional<Dtype> param_dtype, std::optional<Dtype> reduce_dtype);

/// Sizes if every parameter is sharded on its first dimension, each padded to the same number of
/// rows on every rank (torch/distributed/fsdp/_fully_shard/_fsdp_param.py, 2.13).
UnitSizes row_sharded_unit(const Workload& workload, const Unit& unit, int ranks,
                           std::optional<Dtype> param_dtype, std::optional<Dtype> reduce_dtype);

}  // namespace ddpsim
