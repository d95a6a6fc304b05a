// Lines that several reports share, each ended by a newline; empty when there is nothing to say.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/reports/reports.hpp"
#include "job_words.hpp"
#include "page.hpp"

namespace ddpsim {

/// setting_text() as a line.
std::string setting_line(const std::string& setting, const TerminalStyle& style);

/// What a rank's memory holds at most, its parts from the largest on.
std::string memory_line(const std::optional<PeakMemory>& memory, const TerminalStyle& style);

/// Today's measured step against its replay, and what would explain what that misses; `of` whom.
std::string replay_line(const Trust& trust, const TerminalStyle& style,
                        const std::string& of = "Today");
/// Whether this step is the one measured, corrected by what the replay misses.
bool is_measured(const Trust& trust, Duration step);

/// " (4660 samples/s, MFU 41 %, scaling efficiency 88 %)": each where it is known.
std::string speed_clause(const StepTimes& times, const Job& job, int digits);

/// The interval as times around `predicted`, what it rests on, and its widest source. `of`: what is predicted.
std::string interval_line(const Confidence& confidence, Duration predicted,
                          const TerminalStyle& style, std::string_view of = "of the step");
/// Every source of the interval, and every reason.
std::string interval_reasons(const Confidence& confidence, const TerminalStyle& style);

/// The single measurement that would narrow the interval most.
std::string next_measurement(const Confidence& confidence, const TerminalStyle& style);

/// Each a section: what may overturn an answer stands in front of it.
void add_warnings(Page& page, const Warnings& warnings, const TerminalStyle& style);
std::string warning_lines(const Warnings& warnings, const TerminalStyle& style);

/// Set off by a blank line.
std::string after_blank(const std::string& lines);

/// The hint for the next command; nothing where there is none.
std::string hint_line(const std::string& next_command, const TerminalStyle& style);

}  // namespace ddpsim
