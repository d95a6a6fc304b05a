// The curve of a tuning: what each cap gives, and what no cap can reach.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// A row for each cap worth showing, and a note on those that were tried.
std::string curve_lines(const TuneResult& result, int digits, TimeUnit unit,
                        const TerminalStyle& style);

/// The step without collectives' time, and the best partition of the gradients into buckets.
std::string bound_lines(const TuneResult& result, int digits, TimeUnit unit,
                        const TerminalStyle& style);

}  // namespace ddpsim
