// Comparison of assigned buckets with those in DDP's own log.
#pragma once

#include <optional>

#include "ddp_arguments.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {

/// Takes the cap and flags of the log that the command line does not give.
void adopt_logged_options(const DdpLog& log, DdpOptions& options);

/// Returns the logged buckets of an order. If the buckets assigned under `options` differ, it also says which settings would make them
/// equal. The log tells neither the PyTorch version nor whether a cap of 25 was passed.
std::optional<LoggedBuckets> logged_buckets(const DdpLog& log, const Workload& workload,
                                            const DdpOptions& options, TorchVersion torch,
                                            bool in_ready_order);

}  // namespace ddpsim
