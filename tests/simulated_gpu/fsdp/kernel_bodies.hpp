// What the driver's kernels do, for nvcc and for the simulated GPU: cuda_kernel_bodies.hpp of the real reducer has the
// conventions. C++17.
#pragma once

#include "cuda_kernel_bodies.hpp"

namespace fsdp_kernels {

using ddpsim_kernels::Arithmetic;
using ddpsim_kernels::Cast;
using ddpsim_kernels::Lane;
using ddpsim_kernels::wide;

/// A layer of so many nanoseconds, which reads what it is given and writes what follows from it.
template <typename Clock, typename T>
DDPSIM_ON_BOTH void compute_body(Lane lane, Clock& clock, int64_t nanoseconds, const T* from, T* to,
                                 int64_t elements, double factor) {
  ddpsim_kernels::spin_body(clock, nanoseconds);
  ddpsim_kernels::scale_body(lane, from, to, elements, factor);
}

/// to = to + from, in no time: that a layer reads two things.
template <typename T>
DDPSIM_ON_BOTH void read_too_body(Lane lane, const T* from, T* to, int64_t elements) {
  ddpsim_kernels::add_body(lane, from, to, elements);
}

/// One parameter of a unit that fully_shard shards on its first dimension, in elements.
struct ParameterPlace {
  int64_t shard_at;  ///< within what a rank holds of the unit
  int64_t shard;     ///< what a rank holds of it, padded
  int64_t whole_at;  ///< within the unit's parameters, each unpadded
  int64_t whole;
};

DDPSIM_ON_BOTH inline const ParameterPlace& parameter_at(const ParameterPlace* places,
                                                         int64_t count, int64_t at) {
  int64_t found = 0;
  while (found + 1 < count && places[found + 1].shard_at <= at) ++found;
  return places[found];
}

/// torch.split_with_sizes_copy: from rank after rank to parameter after parameter, padding included.
template <typename T>
DDPSIM_ON_BOTH void copy_out_body(Lane lane, const T* from, T* to, const ParameterPlace* places,
                                  int64_t count, int64_t shard, int64_t ranks) {
  for (int64_t i = lane.first; i < shard * ranks; i += lane.step) {
    const int64_t rank = i / shard;
    const ParameterPlace& place = parameter_at(places, count, i % shard);
    to[place.shard_at * ranks + rank * place.shard + i % shard - place.shard_at] = from[i];
  }
}

/// torch._chunk_cat: from parameter after parameter to rank after rank, padded with zeros.
template <typename From, typename To>
DDPSIM_ON_BOTH void chunk_cat_body(Lane lane, const From* from, To* to,
                                   const ParameterPlace* places, int64_t count, int64_t shard,
                                   int64_t ranks) {
  using V = typename Arithmetic<To>::Type;
  for (int64_t i = lane.first; i < shard * ranks; i += lane.step) {
    const ParameterPlace& place = parameter_at(places, count, i % shard);
    const int64_t at = i / shard * place.shard + i % shard - place.shard_at;
    to[i] =
        Cast<To, V>::of(at < place.whole ? static_cast<V>(wide(from[place.whole_at + at])) : V());
  }
}

}  // namespace fsdp_kernels
