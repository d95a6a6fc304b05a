// What a user can change of DistributedDataParallel: its arguments, communication hooks, accumulation, SyncBatchNorm, caps.
#pragma once

#include <optional>
#include <vector>

#include "setting.hpp"

namespace ddpsim {

/// Those that are not in force, but for caps. Precondition: the scheme runs DDP's reducer.
std::vector<Setting> ddp_settings(const Job& job);

/// A hook that casts, for the larger of this job's buckets alone: from that size on under which the step is shortest.
/// Absent where none is shorter than with all of them cast, or another hook is in force.
std::optional<Setting> partial_cast_setting(const Job& job, CommHook hook);

/// These bucket sizes, in launch order, as bucket_cap_mb_list. Absent where no list gives them, or a long one.
std::optional<Setting> cap_list_setting(const Job& job, const std::vector<Bucket>& buckets);
/// What `tune` recommends for this job.
Setting cap_setting(const Recommendation& recommended);

}  // namespace ddpsim
