// An epoch and Join, in JSON and for people.
#pragma once

#include <string>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/data/epoch.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// `epoch` and `join` of a result.
void write_epoch(JsonWriter& json, const Epoch& epoch);
void write_joined(JsonWriter& json, const JoinedEpoch& epoch);

std::string epoch_lines(const Epoch& epoch, int digits, const TerminalStyle& style);
std::string joined_lines(const JoinedEpoch& epoch, int digits, const TerminalStyle& style);

}  // namespace ddpsim
