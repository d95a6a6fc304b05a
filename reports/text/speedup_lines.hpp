// The speedup of one candidate over another, in words.
#pragma once

#include <span>
#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// "dgxa100@4 (32 GPUs)"
std::string name_of_job(const std::string& label, int ranks);
std::string name_of_job(const ReportContext& context);

/// One sentence: which candidate trains faster, by how much, and how certain that is.
std::string speedup_sentence(const Speedup& speedup, const std::string& fastest,
                             const std::string& other);

/// A candidate that learning_caveat() names.
struct NamedCandidate {
  std::string name;
  std::string changed_numerics;  ///< from changed_numerics()
};
/// A warning, after a blank, that equal speed is not equal training; empty if both candidates
/// change numerics in the same way.
std::string learning_caveat(const NamedCandidate& first, const NamedCandidate& other);

/// What decides the order, or why it is not decided; empty if nothing is worth saying. Uses the
/// same names as the sentence before it. `workloads` are the names of several workloads.
std::string speedup_reason(const Speedup& speedup, const std::string& fastest,
                           const std::string& other, std::span<const std::string> workloads = {});

/// "bandwidth of collectives", "compute scale of bert-large@A100"
std::string source_phrase(const SpeedupSource& source, std::span<const std::string> workloads);

/// A drawing of what each error source alone makes of the speedup, the widest first.
std::string speedup_tornado(const Speedup& speedup, const std::string& fastest,
                            const std::string& other, std::span<const std::string> workloads,
                            const TerminalStyle& style);

/// A sentence that says where along a range a condition holds.
std::string until_sentence(const Until& until);

/// "12 % (3 to 20)", "x2.0 (1.9 to 2.1)", "the same"
std::string speedup_text(const Speedup& speedup);

}  // namespace ddpsim
