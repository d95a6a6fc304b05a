// Settings that make batches arrive in time.
#pragma once

#include <optional>

#include "setting.hpp"

namespace ddpsim {

/// More workers if the step waits for batches to be loaded; pinned, asynchronous copies if it waits
/// for the copy. Absent if it waits for neither, or for something that no DataLoader setting
/// changes (storage, cores).
std::optional<Setting> loader_setting(const Job& job);

}  // namespace ddpsim
