// What becomes of a full bucket, whatever hook is registered: kernels, all-reduces, and kernels behind each of them.
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
  Duration host;                  ///< launching them, beyond what the hook itself takes
};

struct HookStage {
  Bytes bytes;    ///< all-reduced; 0: nothing is, or NCCL returns at once
  HookWork then;  ///< on a stream of its own
  std::optional<std::uint32_t>
      collective;  ///< into StepPlan::collectives; absent where nothing is sent
};

struct BucketHook {
  HookWork before;                ///< on the compute stream
  std::vector<HookStage> stages;  ///< one behind the other, at least one
  /// The host waits until the device has done all of it, and so does backward.
  bool waits = false;
  HookWork after;  ///< launched behind that

  Bytes on_the_wire() const {
    Bytes sum;
    for (const HookStage& stage : stages) sum += stage.bytes;
    return sum;
  }
};

/// Without the collectives' indices. DDP's own all-reduce is a hook without kernels.
BucketHook hook_of(const Job& job, const KernelCosts& kernels, const Bucket& bucket);

/// The process group in which buckets are reduced: local SGD's are of the GPUs of one node.
Job reduced_among(const Job& job);

}  // namespace ddpsim
