// Where the efficiency goes: from one GPU's step to this one, cause by cause.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// What decides the name of a cause.
struct LossWords {
  bool of_ddp = true;  ///< it is DDP that copies, and DDP's host that is waited for
  bool measured =
      false;  ///< the step was: what no cause explains is no allowance for other jobs' overhead
};
LossWords loss_words(const ReportContext& context, Duration step);

/// "exposed all-reduces".
std::string_view label_of(LossCause cause, LossWords words = {});

/// Of what is simulated or was measured: an allowance is neither. Absent where nothing is lost.
std::optional<LossCause> largest_loss(const Loss& loss);

/// "25 % of it blocked by communication", "all communication hidden", "no communication".
std::string blocking_text(const StepTimes& times);

/// "3.4 ms", as the table has it.
std::string loss_text(const StepTimes& times, LossCause cause);

/// A row a cause, the largest first; what is too small for the table's resolution is in the rounding of the others.
/// Parts add up as printed.
std::string loss_table(const StepTimes& times, const Confidence& confidence,
                       const TerminalStyle& style, LossWords words);

}  // namespace ddpsim
