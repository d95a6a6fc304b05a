// What a user can change in DistributedDataParallel: its arguments, communication hooks,
// accumulation, SyncBatchNorm, caps.
#pragma once

#include <optional>
#include <vector>

#include "setting.hpp"

namespace ddpsim {

/// Settings that are not current, except caps. Precondition: the scheme uses DDP's reducer.
std::vector<Setting> ddp_settings(const Job& job);

/// A cast hook applied only to buckets from a certain size on; the size is the one with the
/// shortest step. Absent if casting all buckets is as fast, or if another hook is current.
std::optional<Setting> partial_cast_setting(const Job& job, CommHook hook);

/// A bucket_cap_mb_list that gives these bucket sizes, in launch order. Absent if no list does, or
/// only a long one.
std::optional<Setting> cap_list_setting(const Job& job, const std::vector<Bucket>& buckets);
/// The cap that `tune` recommends, as a setting.
Setting cap_setting(const Recommendation& recommended);

}  // namespace ddpsim
