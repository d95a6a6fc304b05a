// DDP's own log as judge of the buckets assigned here.
#pragma once

#include <optional>

#include "ddp_arguments.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {

/// Cap and flags of the log, where the command line does not give them.
void adopt_logged_options(const DdpLog& log, DdpOptions& options);

/// The logged buckets of that order, and where those assigned under `options` differ, what would make
/// them alike: the log does not tell the PyTorch version, nor whether a cap of 25 was passed.
std::optional<LoggedBuckets> logged_buckets(const DdpLog& log, const Workload& workload,
                                            const DdpOptions& options, TorchVersion torch,
                                            bool in_ready_order);

}  // namespace ddpsim
