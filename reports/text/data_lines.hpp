// Where a step's batches come from, for people.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/data/data_supply.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// Why a simulated loader is late: ", all workers being busy". Empty where it is not.
std::string data_cause(const DataSupply& supply);

/// A paragraph; empty where nothing is known of the data.
std::string data_lines(const DataSupply& supply, int digits, const TerminalStyle& style);

}  // namespace ddpsim
