// Where a step's batches come from, in words.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/data/data_supply.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// Why a simulated loader is late: ", since all workers are busy". Empty if it is not.
std::string data_cause(const DataSupply& supply);

/// A paragraph.
std::string data_lines(const DataSupply& supply, int digits, const TerminalStyle& style);

}  // namespace ddpsim
