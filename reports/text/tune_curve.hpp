// The tuning curve: the step with each cap, and the bound that no cap can beat.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// A row for each cap worth showing, and a note on how many were tried.
std::string curve_lines(const TuneResult& result, int digits, TimeUnit unit,
                        const TerminalStyle& style);

/// The step if collectives took no time, and the best partition of the gradients into buckets.
std::string bound_lines(const TuneResult& result, int digits, TimeUnit unit,
                        const TerminalStyle& style);

}  // namespace ddpsim
