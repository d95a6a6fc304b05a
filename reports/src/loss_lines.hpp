// Where the efficiency goes: from one GPU's step to this one, cause by cause.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// "exposed all-reduces"; `of_ddp`: it is DDP that copies, and DDP's host that is waited for.
std::string_view label_of(LossCause cause, bool of_ddp = true);

/// Of what is simulated or was measured: an allowance is neither. Absent where nothing is lost.
std::optional<LossCause> largest_loss(const Loss& loss);

/// "25 % of it blocked by communication", "all communication hidden", "no communication".
std::string blocking_text(const StepTimes& times);

/// A row a cause, the largest first; what is too small for the table's resolution is in the rounding of the others.
/// Parts add up as printed.
std::string loss_table(const StepTimes& times, const Confidence& confidence,
                       const TerminalStyle& style, bool of_ddp = true);

}  // namespace ddpsim
