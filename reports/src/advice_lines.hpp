// What `tune` would advise if it were known which PyTorch runs, or what the replay of today's step misses.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// What is kept where nothing is gained: "the default".
std::string kept(const std::optional<Today>& today);

/// Where the replay misses today's step: what a cap gains if compute is what it misses, and if collectives
/// are.
std::string cause_lines(const TuneResult& result, const ReportContext& context, int digits,
                        TimeUnit unit, const TerminalStyle& style);

/// Where nothing says which PyTorch runs: over which versions the verdict holds, or what each would be
/// advised.
std::string version_lines(const TuneResult& result, int digits, TimeUnit unit,
                          const TerminalStyle& style);

}  // namespace ddpsim
