// The buckets of a simulated step: when each is ready, launched, started and done, and why some are
// exposed.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A row for each bucket in launch order, below a line that explains the times.
std::string bucket_table(const StepResult& step, Backend backend, int digits,
                         const TerminalStyle& style);

/// Why buckets are exposed. Consecutive buckets with the same reason share a line.
std::string exposed_lines(const std::vector<BucketResult>& buckets, const TerminalStyle& style);

}  // namespace ddpsim
