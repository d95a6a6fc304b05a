// Evidence that is one text, and what is found in it.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/diagnose/evidence/evidence.hpp"

namespace ddpsim::evidence_text {

inline Evidence evidence_of(const std::string& text) {
  const std::vector<EvidenceText> texts = {{.file = "evidence.txt", .text = text, .node = {}}};
  return read_evidence(texts);
}

inline std::vector<Finding> problems_of(const std::string& text) {
  return find_problems(evidence_of(text));
}

inline std::vector<Finding> changes_of(const std::string& before, const std::string& after) {
  return find_changes(evidence_of(before), evidence_of(after));
}

using Kinds = std::vector<CauseClass>;

/// Each class is listed as often as it was found.
inline Kinds kinds_of(const std::vector<Finding>& findings) {
  Kinds kinds;
  for (const Finding& finding : findings) kinds.push_back(finding.what);
  return kinds;
}

}  // namespace ddpsim::evidence_text
