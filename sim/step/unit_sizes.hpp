// What a sharded unit holds and sends, padding included. S is a whole unit, its shard S / ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "ddpsim/sim/values/workload.hpp"
#include "units.hpp"

namespace ddpsim {

struct UnitSizes {
  Bytes whole;     ///< unpadded, as stored
  Bytes stored;    ///< shard of the parameters, as stored and as the optimizer steps it
  Bytes gathered;  ///< all-gather: of the type computed in
  Bytes gradient;  ///< unsharded, unpadded, of the type computed in
  Bytes reduced;   ///< reduce-scatter: of the type reduced in
  Bytes unpadded;  ///< the same without padding

  /// Of one rank.
  Bytes gathered_shard(int ranks) const { return Bytes(gathered.count() / ranks); }
  Bytes reduced_shard(int ranks) const { return Bytes(reduced.count() / ranks); }
};

/// A unit's parameters are of one type.
Dtype stored_type(const Workload& workload, const Unit& unit);
/// Of the gradient, and so of the parameter.
std::int64_t elements_of(const Parameter& parameter);
std::int64_t padded_to(std::int64_t multiple_of, std::int64_t count);

/// Sums over so many ranks are divided by about the root of it before they are made, and by the rest behind, so that half
/// precision neither overflows nor underflows (_get_gradient_predivide_factor, _get_gradient_divide_factors). Which of the
/// two there are.
struct GradientDivision {
  bool before;
  bool after;
};
GradientDivision divided_in_two(int ranks);

/// 1 of nothing, and no more than 1: padding is no work.
double share_of(Bytes part, Bytes whole);

/// One tensor of all parameters (torch/distributed/fsdp/_flat_param.py, 2.13), of which each of `shards` ranks has one,
/// padded to a multiple of them. use_orig_params has each parameter begin at a multiple of 16 bytes of the type computed in,
/// and pads to the `group` also where it does not shard.
struct FlatLayout {
  int shards = 1;
  int group = 1;
  bool use_orig_params = false;
};
UnitSizes flat_unit(const Workload& workload, const Unit& unit, const FlatLayout& layout,
                    std::optional<Dtype> param_dtype, std::optional<Dtype> reduce_dtype);

/// Every parameter sharded on its first dimension, each padded to as many rows on every rank
/// (torch/distributed/fsdp/_fully_shard/_fsdp_param.py, 2.13).
UnitSizes row_sharded_unit(const Workload& workload, const Unit& unit, int ranks,
                           std::optional<Dtype> param_dtype, std::optional<Dtype> reduce_dtype);

}  // namespace ddpsim
