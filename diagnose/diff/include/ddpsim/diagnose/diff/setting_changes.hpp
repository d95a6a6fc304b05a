// What two recordings say of their jobs that is not alike: versions, buckets, options, machine, batch.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/diagnose/diff/slowdown_causes.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// In no order of importance. What one of the two does not say is no change.
std::vector<SettingChange> setting_changes(const Workload& before, const Workload& now);

/// A network that got slower: an all-reduce of `size`, timed alone, takes `growth` times as long for the same bus bytes.
/// Absent where that is within what such times vary by.
std::optional<SettingChange> slower_network(Bytes size, Duration before, Duration now,
                                            double growth);

/// Both sides tell, of a rank at least, how long the threads that train waited for a core.
bool threads_known(const Workload& before, const Workload& now);

}  // namespace ddpsim
