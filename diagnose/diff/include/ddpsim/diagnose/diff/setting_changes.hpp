// Differences in what two recordings say about their jobs: versions, buckets, options, machine,
// batch.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/diagnose/diff/slowdown_causes.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// In no particular order. What only one recording says is no change.
std::vector<SettingChange> setting_changes(const Workload& before, const Workload& now);

/// Reports a slower network: timed alone, an all-reduce of `size` takes `growth` times as long for
/// the same bus bytes. Absent if that lies within the usual variation.
std::optional<SettingChange> slower_network(Bytes size, Duration before, Duration now,
                                            double growth);

/// Whether both sides tell, for at least one rank, how long the training threads waited for a core.
bool threads_known(const Workload& before, const Workload& now);

}  // namespace ddpsim
