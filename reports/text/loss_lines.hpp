// Where the efficiency goes: what makes this step longer than the step of one GPU, cause by cause.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// What the name of a cause depends on.
struct LossWords {
  /// The scheme is DDP, so the copies and the host work are DDP's.
  bool of_ddp = true;
  /// The step was measured, so time without a cause is "unexplained" rather than an allowance for
  /// multi-GPU overhead.
  bool measured = false;
};
LossWords loss_words(const ReportContext& context, Duration step);

/// "exposed all-reduces".
std::string_view label_of(LossCause cause, LossWords words = {});

/// The largest loss, without the allowance for multi-GPU overhead, which is neither simulated nor
/// measured. Absent if nothing is lost.
std::optional<LossCause> largest_loss(const Loss& loss);

/// "25 % of it blocked by communication", "all communication hidden", "no communication".
std::string blocking_text(const StepTimes& times);

/// "3.4 ms", as the table prints it.
std::string loss_text(const StepTimes& times, LossCause cause);

/// A row for each cause, the largest first. Causes below the table's resolution are left out, and
/// the printed parts still add up.
std::string loss_table(const StepTimes& times, const Confidence& confidence,
                       const TerminalStyle& style, LossWords words);

}  // namespace ddpsim
