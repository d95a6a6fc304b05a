// What happens to a full bucket under any communication hook: kernels, then all-reduces, each
// followed by kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/bucket.hpp"
#include "kernel_costs.hpp"

namespace ddpsim {

struct HookWork {
  std::vector<Duration> kernels;  ///< on the GPU
  /// Time to launch the kernels, in addition to the hook's own host time.
  Duration host;
};

struct HookStage {
  /// Size of the all-reduce. If it is 0, nothing is sent or NCCL returns at once.
  Bytes bytes;
  HookWork then;  ///< on a stream of its own
  /// Index into StepPlan::collectives. Absent if nothing is sent.
  std::optional<std::uint32_t> collective;
};

struct BucketHook {
  HookWork before;                ///< on the compute stream
  std::vector<HookStage> stages;  ///< in order; at least one
  /// Whether the host waits until the device has finished all stages. Backward then waits too.
  bool waits = false;
  HookWork after;  ///< launched after that wait

  Bytes on_the_wire() const {
    Bytes sum;
    for (const HookStage& stage : stages) sum += stage.bytes;
    return sum;
  }
};

/// Plans the bucket's hook; its collectives have no index yet. DDP's own all-reduce is a hook
/// without kernels.
BucketHook hook_of(const Job& job, const KernelCosts& kernels, const Bucket& bucket);

/// The job reduced to the process group that reduces buckets. Under local SGD this is one node's
/// GPUs.
Job reduced_among(const Job& job);

}  // namespace ddpsim
