// An epoch and Join, in words.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/data/epoch.hpp"
#include "text_layout.hpp"

namespace ddpsim {

std::string epoch_lines(const Epoch& epoch, int digits, const TerminalStyle& style);
std::string joined_lines(const JoinedEpoch& epoch, int digits, const TerminalStyle& style);

}  // namespace ddpsim
