// What makes batches come in time.
#pragma once

#include <optional>

#include "setting.hpp"

namespace ddpsim {

/// More workers where the step waits for its batches to be loaded, a pinned copy beside the step where it waits for that. Absent
/// where it waits for neither, or for what no setting of DataLoader changes: storage, cores.
std::optional<Setting> loader_setting(const Job& job);

}  // namespace ddpsim
