// What a step under another scheme than DDP sends, and what of it stands in the open.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// "fsdp2: reshard_after_forward=true, wrap=blocks, …"
std::string scheme_text(const Scheme& scheme);

/// What each kind of collective carries in a step, and what is exposed by phase. Empty where nothing is sent.
std::string scheme_lines(const StepResult& step, int digits, const TerminalStyle& style);

/// What the host does in the GPU's place, at which rates, what the GPU waits for it, and what of a rank it holds. Empty where
/// nothing stays there. `whose`: stands in front, where several jobs do.
std::string offload_lines(const ReportContext& context, const std::optional<PeakMemory>& memory,
                          const StepTimes& times, int digits, const TerminalStyle& style,
                          const std::string& whose = "");

/// A row a collective, in the order of their launches; those of a long list in the middle are left out.
std::string collective_table(const StepResult& step, Backend backend, int digits,
                             const TerminalStyle& style);

}  // namespace ddpsim
