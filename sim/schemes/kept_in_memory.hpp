// What a scheme keeps of a model in a rank's memory. memory_walks.hpp computes from it how memory
// changes during a step.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "unit_sizes.hpp"
#include "units.hpp"

namespace ddpsim {

/// DDP's buckets, in addition to whole parameters and gradients.
struct ReducerBuckets {
  /// For each parameter, whether the rank's optimizer updates it. Empty: it updates all parameters.
  std::vector<bool> steps;
};

/// A sharded model, unit by unit.
struct ShardedUnits {
  std::vector<Unit> units;
  std::vector<UnitSizes> sizes;
  std::vector<bool> freed_after_forward;  ///< by unit
  bool frees_in_backward = true;
  bool prefetches = true;  ///< in backward
  /// Whether backward also prefetches units that it does not reach because all units before them
  /// are frozen.
  bool prefetches_unreached = false;
  /// Whether gradients of micro-batches that are not reduced stay whole.
  bool whole_gradients = false;
  /// Whether gradients are cast on the stream that reduces them.
  bool casts_beside = false;
  /// Whether gathered parameters are freed only when the GPU has reached that point.
  bool frees_late = false;
  std::optional<Dtype> param_dtype;  ///< computed in
  std::optional<Dtype> reduce_dtype;
  /// Whether shards of parameters, gradients and optimizer state stay on the host.
  bool offloads = false;
};

/// Whole parameters and gradients, without buckets.
struct WholeTensors {
  bool steps = true;  ///< the rank has an optimizer
  Bytes gradients{};  ///< copied together after backward
  /// Size of the parameters that are averaged after the optimizer.
  Bytes averaged{};
  /// Size of the largest parameter that is widened to the common type for averaging.
  Bytes widened{};
  Bytes between_averages{};  ///< kept from one average to the next
};

/// Parameters and gradients in one type, and fp32 copies that the optimizer updates (DeepSpeed,
/// Megatron-Core). Everything exists from the start of the step, except activations and the gradient
/// that was just written.
struct MixedPrecision {
  Bytes parameters{};
  Bytes gradients{};
  Bytes buckets{};
  Bytes optimizer{};
  Bytes temporaries{};
  Bytes host{};                   ///< kept on the host
  std::int64_t element_size = 0;  ///< of a gradient just written, in bytes
  bool keeps_gradients = false;   ///< as they are written
  Bytes stepped{};                ///< gradients as the optimizer reads them
};

using KeptInMemory = std::variant<ReducerBuckets, ShardedUnits, WholeTensors, MixedPrecision>;

/// The sizes from which the memory of MixedPrecision is computed.
struct MixedSizes {
  std::int64_t elements = 0;    ///< of all parameters
  std::int64_t trained = 0;     ///< of parameters that are not frozen
  std::int64_t persistent = 0;  ///< of parameters stage 3 never shards
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
