// The evidence of one side, and the findings in it: on its own, or compared with another side.
//
//   const Evidence before = read_evidence(old_texts), after = read_evidence(new_texts);
//   find_problems(after);          // what costs time, whatever was before
//   find_changes(before, after);   // what differs from before and may cost time
//
// Only lines of text lead to findings: a side without such lines has none. Findings carry no times
// of a step. A measurement of both sides tells what they cost.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/diagnose/evidence/ddp_facts.hpp"
#include "ddpsim/diagnose/evidence/environment_facts.hpp"
#include "ddpsim/diagnose/evidence/finding.hpp"
#include "ddpsim/diagnose/evidence/machine_facts.hpp"
#include "ddpsim/diagnose/evidence/nccl_facts.hpp"

namespace ddpsim {

/// A text as it was found. Each line tells what it is: NCCL's debug lines, DDP's logging data,
/// `env`, or what machines say (machine_facts.hpp). One text may hold several of these in sequence.
struct EvidenceText {
  /// Used in the places of findings; a name, not a path.
  std::string file;
  std::string text;
  std::string node;  ///< which node it comes from; empty if unknown
};

struct Evidence {
  NcclFacts nccl;
  DdpFacts ddp;
  EnvironmentFacts environment;
  std::vector<MachineFacts> machines;  ///< by node, in order of first mention
  /// One sentence for each of the first eight lines that were too long to be read.
  std::vector<std::string> warnings;
  /// The kinds of evidence it holds, in a fixed order: "NCCL's debug lines", "environment
  /// variables". Two sides are compared by the kinds that both hold.
  std::vector<std::string_view> kinds() const;
  bool empty() const;
};

/// Longest line of a log that is split into words, in bytes. Neither NCCL nor a trainer prints a
/// longer one, and the words of a line take eight times its memory.
inline constexpr std::size_t kLongestLogLine = std::size_t{1} << 20;

/// Never throws. Skips lines that say nothing relevant, and lines longer than kLongestLogLine, with
/// a warning.
Evidence read_evidence(std::span<const EvidenceText> texts);
/// Reads the evidence in one text whose node is unknown. The text is not copied; `file` names it in
/// the places of findings.
Evidence read_evidence(std::string_view text, const std::string& file);

/// Ordered by class, without duplicates. Changes include the problems of `after` that `before` does
/// not have.
std::vector<Finding> find_problems(const Evidence& evidence);
std::vector<Finding> find_changes(const Evidence& before, const Evidence& after);
/// Problems of `before` that are gone from `after`, if its evidence would show them. None of them
/// makes a step longer.
std::vector<Finding> find_repairs(const Evidence& before, const Evidence& after);

}  // namespace ddpsim
