// What a user can change in a scheme: DDP's arguments (ddp_settings.hpp), or FSDP units,
// prefetching, resharding and bucket sizes, as each library takes them. Wrap policies are those of
// --scheme; several blocks in one unit (a list passed to fully_shard) are not among them. Precision
// and the scheme itself are no settings, because changing them gives another training (`compare`).
#pragma once

#include <vector>

#include "setting.hpp"

namespace ddpsim {

/// Empty if the scheme has no settings of its own.
std::vector<Setting> scheme_settings(const Job& job);

}  // namespace ddpsim
