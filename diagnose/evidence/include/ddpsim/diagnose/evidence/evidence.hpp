// The evidence of one side, and what of it is a finding: alone, or beside another side.
//
//   const Evidence before = read_evidence(texts_of_march), after = read_evidence(texts_of_today);
//   find_problems(after);          // what costs time whatever was before
//   find_changes(before, after);   // what is otherwise than before, and may cost time
//
// Only what lines say is a finding: a side that holds no such line has none. Findings carry no figures of a step; whoever
// has measured both sides says what they cost.
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

/// A text as it was found. What its lines are is told by each line: NCCL's debug lines, DDP's logging data, `env`, and
/// what machines say (machine_facts.hpp); also several of these one behind the other.
struct EvidenceText {
  std::string file;  ///< for the places of findings; a name, no path
  std::string text;
  std::string node;  ///< which node it is of; empty where nobody says
};

struct Evidence {
  NcclFacts nccl;
  DdpFacts ddp;
  EnvironmentFacts environment;
  std::vector<MachineFacts> machines;  ///< by node, in the order in which nodes were first named
  /// One sentence for each line that was too long to be read, of the first eight.
  std::vector<std::string> warnings;
  /// What it holds, in a fixed order: "NCCL's debug lines", "environment variables". Two sides are compared by the kinds
  /// that both hold.
  std::vector<std::string_view> kinds() const;
  bool empty() const;
};

/// Longest line of a log that is split into words, in bytes. Neither NCCL nor a trainer prints a longer one, and the words
/// of a line take eight times its memory.
inline constexpr std::size_t kLongestLogLine = std::size_t{1} << 20;

/// Never throws. Lines that say nothing of these are passed over; lines longer than kLongestLogLine are, with a warning.
Evidence read_evidence(std::span<const EvidenceText> texts);
/// The same of one text of no known node, which is not copied; `file` names it in the places of findings.
Evidence read_evidence(std::string_view text, const std::string& file);

/// In order of classes; none twice. Of changes also those problems of `after` that `before` does not have.
std::vector<Finding> find_problems(const Evidence& evidence);
std::vector<Finding> find_changes(const Evidence& before, const Evidence& after);
/// Problems of `before` that `after` no longer has, where its evidence would show them: each makes a step no longer.
std::vector<Finding> find_repairs(const Evidence& before, const Evidence& after);

}  // namespace ddpsim
