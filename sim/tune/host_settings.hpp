// Settings that make the host launch less work when the GPU waits for it.
#pragma once

#include <vector>

#include "setting.hpp"

namespace ddpsim {

/// If forward and backward wait for launches: torch.compile with CUDA graphs (before 2.1, a
/// captured step). If the optimizer's step waits: a fused optimizer. Each gains at most its waits;
/// what fused kernels save is not counted. Empty if neither recording nor simulation shows such
/// waits, the job is compiled already, or its scheme does not use DDP's reducer.
std::vector<Setting> host_settings(const Job& job);

}  // namespace ddpsim
