// What a step sends under a scheme other than DDP, and how much of that is exposed.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// "fsdp2: reshard_after_forward=true, wrap=blocks, …"
std::string scheme_text(const Scheme& scheme);

/// What each kind of collective carries in a step, and the exposed time of each phase. Empty if
/// nothing is sent.
std::string scheme_lines(const StepResult& step, int digits, const TerminalStyle& style);

/// CPU offload: what the host does and at which rates, how long the GPU waits for it, and what it
/// holds for a rank. Empty without offload. Begins with `whose` if there are several jobs.
std::string offload_lines(const ReportContext& context, const std::optional<PeakMemory>& memory,
                          const StepTimes& times, int digits, const TerminalStyle& style,
                          const std::string& whose = "");

/// A row for each collective in launch order. The middle of a long list is left out.
std::string collective_table(const StepResult& step, Backend backend, int digits,
                             const TerminalStyle& style);

}  // namespace ddpsim
