// Several workloads on several clusters, as text, JSON, CSV and SVG.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/compare/mix.hpp"

namespace ddpsim {

struct MixedWorkload {
  std::string name;  ///< as typed
  double share = 0;  ///< of the reference's time, 0 to 1
  /// The comparison of this workload alone, with the candidates on which it runs.
  CompareReport report;
};

/// A candidate on which all workloads run.
struct MixLabel {
  std::string label;
  std::string cluster_text;  ///< as typed
  int ranks = 1;
  Grade grade = Grade::c;             ///< lowest grade of its workloads
  std::string changed_numerics = {};  ///< from any of its workloads
};

struct MixReport {
  std::vector<MixedWorkload> workloads;
  Mix mix;
  std::vector<MixLabel> labels;  ///< indexed like `mix.candidates`
  /// Candidate whose time the shares refer to.
  std::size_t reference = 0;
  /// Candidates on which some workloads do not run. The error names those workloads.
  std::vector<NotCompared> not_compared{};
  std::optional<Costs> costs{};  ///< set if anything has a price
  std::vector<Until> until{};
  std::vector<std::string> warnings{};
};

std::string mix_text(const MixReport& report, const TerminalStyle& style);
std::string mix_json(const MixReport& report);
std::string mix_csv(const MixReport& report);

/// A plot of cost against time with intervals, sources of prices and the frontier. Precondition:
/// `costs`.
std::string cost_svg(const CompareReport& report);
std::string cost_svg(const MixReport& report);

}  // namespace ddpsim
