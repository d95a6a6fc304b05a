// The evidence of one side, and what of it is a finding: alone, or beside another side.
//
//   const Evidence before = read_evidence(texts_of_march), after = read_evidence(texts_of_today);
//   find_problems(after);          // what costs time whatever was before
//   find_changes(before, after);   // what is otherwise than before, and may cost time
//
// Only what lines say is a finding: a side that holds no such line has none. Findings carry no figures of a step; whoever
// has measured both sides says what they cost.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ddpsim/calibrate/ddp_facts.hpp"
#include "ddpsim/calibrate/environment_facts.hpp"
#include "ddpsim/calibrate/finding.hpp"
#include "ddpsim/calibrate/machine_facts.hpp"
#include "ddpsim/calibrate/nccl_facts.hpp"

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
  bool empty() const;
};

/// Never throws: lines that say nothing of these are passed over.
Evidence read_evidence(std::span<const EvidenceText> texts);

/// In order of classes; none twice. Of changes also those problems of `after` that `before` does not have.
std::vector<Finding> find_problems(const Evidence& evidence);
std::vector<Finding> find_changes(const Evidence& before, const Evidence& after);

}  // namespace ddpsim
