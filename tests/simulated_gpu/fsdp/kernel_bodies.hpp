// The bodies of the driver's kernels, for nvcc and the simulated GPU. They follow the conventions
// of the real reducer's cuda_kernel_bodies.hpp. C++17.
#pragma once

#include "cuda_kernel_bodies.hpp"

namespace fsdp_kernels {

using ddpsim_kernels::Arithmetic;
using ddpsim_kernels::Cast;
using ddpsim_kernels::Lane;
using ddpsim_kernels::wide;

/// A layer that takes the given nanoseconds, reads its input, and writes a result that depends on
/// it.
template <typename Clock, typename T>
DDPSIM_ON_BOTH void compute_body(Lane lane, Clock& clock, int64_t nanoseconds, const T* from, T* to,
                                 int64_t elements, double factor) {
  ddpsim_kernels::spin_body(clock, nanoseconds);
  ddpsim_kernels::scale_body(lane, from, to, elements, factor);
}

/// to = to + from, in no time, for a layer that reads two inputs.
template <typename T>
DDPSIM_ON_BOTH void read_too_body(Lane lane, const T* from, T* to, int64_t elements) {
  ddpsim_kernels::add_body(lane, from, to, elements);
}

/// One parameter of a unit that fully_shard shards on its first dimension. All values are in
/// elements.
struct ParameterPlace {
  int64_t shard_at;  ///< offset in a rank's share of the unit
  int64_t shard;     ///< a rank's share of it, padded
  int64_t whole_at;  ///< offset in the unit's unpadded parameters
  int64_t whole;
};

DDPSIM_ON_BOTH inline const ParameterPlace& parameter_at(const ParameterPlace* places,
                                                         int64_t count, int64_t at) {
  int64_t found = 0;
  while (found + 1 < count && places[found + 1].shard_at <= at) ++found;
  return places[found];
}

/// torch.split_with_sizes_copy: reorders from ranks to parameters, including padding.
template <typename T>
DDPSIM_ON_BOTH void copy_out_body(Lane lane, const T* from, T* to, const ParameterPlace* places,
                                  int64_t count, int64_t shard, int64_t ranks) {
  for (int64_t i = lane.first; i < shard * ranks; i += lane.step) {
    const int64_t rank = i / shard;
    const ParameterPlace& place = parameter_at(places, count, i % shard);
    to[place.shard_at * ranks + rank * place.shard + i % shard - place.shard_at] = from[i];
  }
}

/// torch._chunk_cat: reorders from parameters to ranks, padded with zeros.
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
