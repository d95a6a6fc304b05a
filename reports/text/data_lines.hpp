// Where a step's batches come from, in JSON and for people.
#pragma once

#include <string>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/data/data_supply.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// `data_loader` of a result.
void write_data(JsonWriter& json, const DataSupply& supply);

/// Why a simulated loader is late: ", all workers being busy". Empty where it is not.
std::string data_cause(const DataSupply& supply);

/// A paragraph; empty where nothing is known of the data.
std::string data_lines(const DataSupply& supply, int digits, const TerminalStyle& style);

}  // namespace ddpsim
