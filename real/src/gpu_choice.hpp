// Which GPU a rank takes. Launchers show a process all GPUs of its host, or only its own.
#pragma once

#include <string>

#include "world.hpp"

namespace ddpsim {

struct GpuChoice {
  int gpu = 0;          ///< among those that the process sees
  std::string problem;  ///< why there is none; else empty
};

/// The GPU of its local rank. Where a launcher started the process and shows it just as many GPUs as it holds ranks
/// (--gpus-per-task=1), those are its own and the local rank counts others'. A local rank that is yet to be found among the
/// ranks of the host has no problem so far.
GpuChoice choose_gpu(const World& world, int visible);

}  // namespace ddpsim
