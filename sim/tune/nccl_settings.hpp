// What a user can change of NCCL, by its environment.
#pragma once

#include <vector>

#include "setting.hpp"

namespace ddpsim {

/// None where the collectives are not NCCL's, or nothing is sent.
std::vector<Setting> nccl_settings(const Job& job);

}  // namespace ddpsim
