// What a scheme keeps of a model in a rank's memory. How that goes up and down in a step is worked out from it (memory_walks.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "unit_sizes.hpp"
#include "units.hpp"

namespace ddpsim {

/// DDP's buckets beside whole parameters and gradients.
struct ReducerBuckets {
  std::vector<bool> steps;  ///< by parameter: the rank's optimizer steps it; empty: all of them
};

/// A sharded model, unit by unit.
struct ShardedUnits {
  std::vector<Unit> units;
  std::vector<UnitSizes> sizes;
  std::vector<bool> freed_after_forward;  ///< by unit
  bool frees_in_backward = true;
  bool prefetches = true;  ///< in backward …
  bool prefetches_unreached =
      false;  ///< … also what it does not come to, since all in front is frozen
  bool whole_gradients = false;      ///< of micro-batches that nobody reduced
  bool casts_beside = false;         ///< gradients, where their reduction runs
  bool frees_late = false;           ///< what is gathered, when the GPU has come as far
  std::optional<Dtype> param_dtype;  ///< computed in
  std::optional<Dtype> reduce_dtype;
  bool offloads = false;  ///< shards of all three stay on the host
};

/// Whole parameters and gradients, without buckets.
struct WholeTensors {
  bool steps = true;         ///< the rank has an optimizer
  Bytes gradients{};         ///< put together when backward is over
  Bytes averaged{};          ///< parameters, when the optimizer has stepped …
  Bytes widened{};           ///< … with the largest of a narrower type
  Bytes between_averages{};  ///< kept from one to the next
};

/// Parameters and gradients in one type, what is stepped in fp32 (DeepSpeed, Megatron-Core); all but activations and the
/// gradient just written is there from the step's beginning.
struct MixedPrecision {
  Bytes parameters{};
  Bytes gradients{};
  Bytes buckets{};
  Bytes optimizer{};
  Bytes temporaries{};
  Bytes host{};                   ///< what stays there
  std::int64_t element_size = 0;  ///< of a gradient just written, in bytes
  bool keeps_gradients = false;   ///< as they are written
  Bytes stepped{};                ///< gradients as the optimizer reads them
};

using KeptInMemory = std::variant<ReducerBuckets, ShardedUnits, WholeTensors, MixedPrecision>;

/// The sizes from which the memory of MixedPrecision is counted.
struct MixedSizes {
  std::int64_t elements = 0;    ///< of parameters …
  std::int64_t trained = 0;     ///< … and of those that are not frozen
  std::int64_t persistent = 0;  ///< of those, never sharded by stage 3
  std::int64_t largest = 0;     ///< of one parameter
  std::int64_t size = 0;        ///< bytes of one, as computed in
  int states = 0;               ///< of the optimizer

  Bytes computed(std::int64_t count) const { return Bytes(count * size); }
  static Bytes single(std::int64_t count) { return Bytes(count * element_size(Dtype::float32)); }
};
MixedSizes mixed_sizes(const Job& job, std::optional<Dtype> param_dtype,
                       std::int64_t persistent_up_to);

/// Returns the bytes of the gradients of all parameters.
Bytes all_gradients(const Job& job);

}  // namespace ddpsim
