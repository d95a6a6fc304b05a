// What a user can change in NCCL through its environment.
#pragma once

#include <vector>

#include "setting.hpp"

namespace ddpsim {

/// Empty if the collectives are not NCCL's, or if nothing is sent.
std::vector<Setting> nccl_settings(const Job& job);

}  // namespace ddpsim
