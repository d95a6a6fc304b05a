// Where the efficiency goes: what a step takes beyond that of one of its GPUs working alone, without DDP, by cause. Each
// picosecond has one cause, whatever would take its place were that cause gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

enum class LossCause : std::uint8_t {
  copies,  ///< into buckets and out of them, divisions, a hook's kernels; recorded ones of buffers
  hooks,   ///< the GPU waits for DDP's host: hooks, late launches, the rebuild of buckets
  interference,  ///< compute slowed while NCCL's kernels run
  slowest_gpu,  ///< usual GPUs wait for the slowest; of joined recordings, for the rank that came last
  straggler,  ///< a rank given as slower, or as starting late: its own compute, the waits for it
  jitter,     ///< a rank's draw in an iteration: less than nothing where it computes faster
  exposed_all_reduce,  ///< after backward: buckets' transfers, and until they are handed back
  used_map,            ///< the same of the map of used parameters
  buffer_broadcast,    ///< with flattening and copying back
  sync_batchnorm,      ///< its exchanges, and the host's reads
  model_averaging,     ///< of local SGD: flattening, dividing and all-reducing parameters, by step
  exposed_all_gather,  ///< of parameters, under a scheme that shards them: compute waits for it
  exposed_reduce_scatter,  ///< of gradients, under one that shards those
  exposed_broadcast,       ///< any other collective of a scheme
  sharded_optimizer,       ///< what others step in a rank's place: less than nothing
  offload,  ///< copies to the host and back that compute waits for, and what the optimizer takes there
  launch_bound,  ///< more than one GPU waits for its launches, or less: negative where the host gets
                 ///< ahead while the GPU waits for others. Only where launches are counted
  input,         ///< waiting for data; not simulated: as recorded
  unexplained,  ///< several GPUs, by published steps, or today's measured step, beyond all of the above
};
inline constexpr std::size_t kLossCauses = 19;
std::string_view name_of(LossCause cause);  ///< "exposed_all_reduce"

/// Only under a scheme that is not DDP's alone.
constexpr bool of_schemes(LossCause cause) {
  return cause == LossCause::exposed_all_gather || cause == LossCause::exposed_reduce_scatter ||
         cause == LossCause::exposed_broadcast || cause == LossCause::sharded_optimizer ||
         cause == LossCause::offload;
}

/// The only causes that may take less than nothing.
constexpr bool may_gain(LossCause cause) {
  return cause == LossCause::jitter || cause == LossCause::unexplained ||
         cause == LossCause::sharded_optimizer;
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

/// In the order of the enumeration.
constexpr std::array<LossCause, kLossCauses> all_loss_causes() {
  std::array<LossCause, kLossCauses> causes{};
  for (std::size_t i = 0; i < kLossCauses; ++i) causes[i] = static_cast<LossCause>(i);
  return causes;
}

}  // namespace ddpsim
