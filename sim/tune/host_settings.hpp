// What makes the host launch less, where the GPU waits for it.
#pragma once

#include <vector>

#include "setting.hpp"

namespace ddpsim {

/// torch.compile with CUDA graphs (before 2.1: a captured step) where forward and backward wait for launches, a fused optimizer
/// where its step does. Each gains its waits at most: what kernels save by being fused is not counted. None where the recording
/// does not show the host, the job is compiled already, or its scheme runs without DDP's
/// reducer.
std::vector<Setting> host_settings(const Job& job);

}  // namespace ddpsim
