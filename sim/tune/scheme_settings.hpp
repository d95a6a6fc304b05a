// What a user can change of a scheme: DDP's arguments (ddp_settings.hpp), or units, prefetching, resharding, bucket sizes, each as
// its library takes it. Wrap policies are those of --scheme; several blocks in one unit (a list passed to fully_shard) are not
// among them. Precision, and which scheme it is, are no settings: another value is another training (`compare`).
#pragma once

#include <vector>

#include "setting.hpp"

namespace ddpsim {

/// None where the scheme has none of its own.
std::vector<Setting> scheme_settings(const Job& job);

}  // namespace ddpsim
