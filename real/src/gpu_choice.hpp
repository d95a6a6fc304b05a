// Which GPU a rank takes. Launchers show a process all GPUs of its host, or only its own.
#pragma once

#include <string>

#include "world.hpp"

namespace ddpsim {

struct GpuChoice {
  int gpu = 0;          ///< among those that the process sees
  std::string problem;  ///< why there is none; else empty
};

/// Whether several ranks may share a GPU: NCCL's own switch NCCL_MULTI_RANK_GPU_ENABLE=1, which NCCL reads from 2.30 on.
bool ranks_may_share_gpus();

/// The GPU of its local rank. Where a launcher started the process and shows it just as many GPUs as it holds ranks
/// (--gpus-per-task=1), those are its own and the local rank counts others'. A local rank that is yet to be found among the
/// ranks of the host has no problem so far. With `shared`, ranks take the visible GPUs in turn, so that several have the same one.
GpuChoice choose_gpu(const World& world, int visible, bool shared);

}  // namespace ddpsim
