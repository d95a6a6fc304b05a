// Buckets of a simulated step: when each is ready, launched, sent and done, and why some are exposed.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A row for each bucket in launch order, under a line that says what instants count from.
std::string bucket_table(const StepResult& step, Backend backend, int digits,
                         const TerminalStyle& style);

/// Why buckets are exposed, equal reasons of neighbours told once.
std::string exposed_lines(const std::vector<BucketResult>& buckets, const TerminalStyle& style);

}  // namespace ddpsim
