// What a setting saves, and what `tune` would advise for each PyTorch version or each cause of the
// replay error.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// A gain and its interval with the same number of digits, so that the printed value never lies
/// outside its interval.
struct GainText {
  std::string value;     ///< "49.1", without the unit
  std::string interval;  ///< "48.9 to 49.3"
};
GainText gain_text(const Gain& gain, int digits, TimeUnit unit);

/// What stays in force if nothing is gained: "the default bucket_cap_mb", "the current buckets".
std::string kept(const std::optional<CurrentBuckets>& current);

/// If the replay differs from the measured step: what a cap gains if the error is in compute, and
/// if it is in collectives.
std::string cause_lines(const TuneResult& result, const std::optional<Replay>& replay, int digits,
                        TimeUnit unit, const TerminalStyle& style);

/// If the PyTorch version is unknown: for which versions the verdict holds, or the advice for each.
std::string version_lines(const TuneResult& result, int digits, TimeUnit unit,
                          const TerminalStyle& style);

}  // namespace ddpsim
