// Chooses the GPU of a rank. Launchers show a process either all GPUs of its host, or only its own.
#pragma once

#include <string>

#include "world.hpp"

namespace ddpsim {

struct GpuChoice {
  int gpu = 0;          ///< index among the GPUs that the process sees
  std::string problem;  ///< why there is none; otherwise empty
};

/// Whether several ranks may share a GPU. NCCL itself reads NCCL_MULTI_RANK_GPU_ENABLE=1 for this
/// from version 2.30 on.
bool ranks_may_share_gpus();

/// The GPU of a rank's local rank. There is one exception: a launcher may show a process exactly as
/// many GPUs as it has ranks (--gpus-per-task=1). Those GPUs belong to the process, whatever its
/// local rank. A local rank that is not known yet is not a problem at this point. With `shared`,
/// ranks use the visible GPUs in turn, so several ranks may have the same one.
GpuChoice choose_gpu(const World& world, int visible, bool shared);

}  // namespace ddpsim
