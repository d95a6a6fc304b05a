// What is said of one candidate's lead over another.
#pragma once

#include <span>
#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// "dgxa100@4 (32 GPUs)"
std::string name_of_job(const std::string& label, int ranks);
std::string name_of_job(const ReportContext& context);

/// One sentence: who trains faster, by how much, how surely.
std::string speedup_sentence(const Speedup& speedup, const std::string& fastest,
                             const std::string& other);

/// A candidate that a sentence calls the first, or holds against it.
struct NamedCandidate {
  std::string name;
  std::string changed_numerics;  ///< as changed_numerics() has it
};
/// What the order of two says nothing about, with a blank in front; empty where neither learns otherwise than the other.
std::string learning_caveat(const NamedCandidate& first, const NamedCandidate& other);

/// What decides, or why not; empty where nothing is worth saying. Names as in the sentence before it; `workloads`, of
/// several: theirs.
std::string speedup_reason(const Speedup& speedup, const std::string& fastest,
                           const std::string& other, std::span<const std::string> workloads = {});

/// "bandwidth of collectives", "compute scale of bert-large@A100"
std::string source_phrase(const SpeedupSource& source, std::span<const std::string> workloads);

/// What each source of error by itself makes of a lead, drawn: widest first.
std::string speedup_tornado(const Speedup& speedup, const std::string& fastest,
                            const std::string& other, std::span<const std::string> workloads,
                            const TerminalStyle& style);

/// Where along a range a condition holds: a sentence.
std::string until_sentence(const Until& until);

/// "12 % (3 to 20)", "x2.0 (1.9 to 2.1)", "the same"
std::string speedup_text(const Speedup& speedup);

}  // namespace ddpsim
