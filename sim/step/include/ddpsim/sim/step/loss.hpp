// The time by which a step is longer than that of one of its GPUs working alone without DDP,
// divided among causes. Each picosecond has one cause, even if something else would take its place
// without that cause.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

enum class LossCause : std::uint8_t {
  /// Copies into buckets and out of them, divisions, kernels of a hook; recorded copies of buffers.
  copies,
  /// The GPU waits for DDP's host work: hooks, late launches, the rebuild of buckets.
  hooks,
  interference,  ///< compute slowed while NCCL's kernels run
  /// The usual GPUs wait for the slowest one. In joined recordings, for the rank that came last.
  slowest_gpu,
  /// A rank is stated to be slower, or to start late: its own compute, and the waits
  /// for this rank.
  straggler,
  /// A rank's random factor in an iteration. Negative if the rank computes faster.
  jitter,
  /// After backward: transfers of buckets, until gradients are handed back.
  exposed_all_reduce,
  /// After backward: transfers of the map of used parameters.
  used_map,
  buffer_broadcast,  ///< with flattening and copying back
  sync_batchnorm,    ///< its collectives, and the host's reads
  /// Local SGD flattens, divides and all-reduces parameters: the share of one step.
  model_averaging,
  /// Compute waits for an all-gather of parameters, under a scheme that shards them.
  exposed_all_gather,
  /// Compute waits for a reduce-scatter of gradients, under a scheme that shards them.
  exposed_reduce_scatter,
  exposed_broadcast,  ///< any other collective of a scheme
  /// Optimizer work that other ranks do instead of this one. Negative.
  sharded_optimizer,
  /// Copies to the host and back that compute waits for, and what the optimizer takes longer on the
  /// host than on the GPU.
  offload,
  /// How much more, or less, the GPU waits for launches than one GPU alone. Negative if the host
  /// gets ahead while the GPU waits for others. Only set if launches were counted.
  launch_bound,
  /// The wait for data: simulated, otherwise as recorded.
  input,
  /// Multi-GPU overhead from published steps, or what the job's measured step takes beyond all of
  /// the above.
  unexplained,
};
inline constexpr std::size_t kLossCauses = 19;
std::string_view name_of(LossCause cause);  ///< "exposed_all_reduce"

/// Whether the cause exists only under a scheme other than DDP.
constexpr bool of_schemes(LossCause cause) {
  return cause == LossCause::exposed_all_gather || cause == LossCause::exposed_reduce_scatter ||
         cause == LossCause::exposed_broadcast || cause == LossCause::sharded_optimizer ||
         cause == LossCause::offload;
}

/// Whether no lower bound holds for the cause, so that it may be negative. launch_bound may be
/// negative as well, but its interval never extends below its own value then.
constexpr bool may_gain(LossCause cause) {
  return cause == LossCause::jitter || cause == LossCause::unexplained ||
         cause == LossCause::sharded_optimizer || cause == LossCause::offload;
}

class Loss {
 public:
  Duration& operator[](LossCause cause) { return times_[static_cast<std::size_t>(cause)]; }
  Duration operator[](LossCause cause) const { return times_[static_cast<std::size_t>(cause)]; }
  Duration total() const {
    Duration sum;
    for (const Duration time : times_) sum += time;
    return sum;
  }
  bool operator==(const Loss&) const = default;

 private:
  std::array<Duration, kLossCauses> times_{};
};

/// All causes in the order of the enumeration.
constexpr std::array<LossCause, kLossCauses> all_loss_causes() {
  std::array<LossCause, kLossCauses> causes{};
  for (std::size_t i = 0; i < kLossCauses; ++i) causes[i] = static_cast<LossCause>(i);
  return causes;
}

}  // namespace ddpsim
