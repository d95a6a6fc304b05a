// What a setting saves; and what `tune` would advise if it were known which PyTorch runs, or what the replay of today's step misses.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// With one number of digits, so that no value lies outside its interval as printed.
struct GainText {
  std::string value;     ///< "49.1": without the unit, as time_number()
  std::string interval;  ///< "48.9 to 49.3"
};
GainText gain_text(const Gain& gain, int digits, TimeUnit unit);

/// What is kept where nothing is gained: "the default".
std::string kept(const std::optional<CurrentBuckets>& current);

/// Where the replay misses today's step: what a cap gains if compute is what it misses, and if collectives
/// are.
std::string cause_lines(const TuneResult& result, const std::optional<Replay>& replay, int digits,
                        TimeUnit unit, const TerminalStyle& style);

/// Where nothing says which PyTorch runs: over which versions the verdict holds, or what each would be
/// advised.
std::string version_lines(const TuneResult& result, int digits, TimeUnit unit,
                          const TerminalStyle& style);

}  // namespace ddpsim
