// Lines that several reports share. Each ends with a newline, and is empty if there is nothing to
// say.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/reports/reports.hpp"
#include "job_words.hpp"
#include "page.hpp"

namespace ddpsim {

/// setting_text() as a line.
std::string setting_line(const std::string& setting, const TerminalStyle& style);

/// Peak memory of a rank and its parts, the largest first.
std::string memory_line(const std::optional<PeakMemory>& memory, const TerminalStyle& style);
/// Which modules keep most of the activations; empty if unknown.
std::string activations_line(const std::optional<PeakMemory>& memory, const TerminalStyle& style);

/// The measured step beside its replay, and what would explain the difference. The line begins with
/// `of`.
std::string replay_line(const Trust& trust, const TerminalStyle& style,
                        const std::string& of = "Current step");
/// Whether this step equals the measured one, because the replay was corrected to match it.
bool is_measured(const Trust& trust, Duration step);

/// " (4660 samples/s, MFU 41 %, scaling efficiency 88 %)". Unknown values are left out.
std::string speed_clause(const StepTimes& times, const Job& job, int digits);

/// The 80 % interval in time around `predicted`, what it rests on and its widest error source. `of`
/// names the predicted quantity.
std::string interval_line(const Confidence& confidence, Duration predicted,
                          const TerminalStyle& style, std::string_view of = "of the step");
/// Every error source of the interval, and every reason.
std::string interval_reasons(const Confidence& confidence, const TerminalStyle& style);

/// The single measurement that would narrow the interval most.
std::string next_measurement(const Confidence& confidence, const TerminalStyle& style);

/// Adds each warning as a section. Those that may overturn the answer weigh as much as the verdict.
void add_warnings(Page& page, const Warnings& warnings, const TerminalStyle& style);
std::string warning_lines(const Warnings& warnings, const TerminalStyle& style);

/// `lines` after a blank line; empty if `lines` is.
std::string after_blank(const std::string& lines);

/// The hint for the next command; empty if there is none.
std::string hint_line(const std::string& next_command, const TerminalStyle& style);

}  // namespace ddpsim
