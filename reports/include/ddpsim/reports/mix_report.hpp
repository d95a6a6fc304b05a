// Several workloads on several clusters -> terminal, JSON, CSV, SVG.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/compare/mix.hpp"

namespace ddpsim {

struct MixedWorkload {
  std::string name;      ///< as typed
  double share = 0;      ///< of the reference's time; together 1
  CompareReport report;  ///< by itself; of candidates on which it runs
};

/// A candidate on which all of the workloads run.
struct MixLabel {
  std::string label;
  std::string cluster_text;  ///< as typed
  int ranks = 1;
  Grade grade = Grade::c;             ///< the least of its workloads'
  std::string changed_numerics = {};  ///< of any of its workloads
};

struct MixReport {
  std::vector<MixedWorkload> workloads;
  Mix mix;
  std::vector<MixLabel> labels;  ///< by candidate of `mix`
  std::size_t reference = 0;     ///< whose time the shares are of
  std::vector<NotCompared>
      not_compared{};            ///< of all, or of some of the workloads: the error says of which
  std::optional<Costs> costs{};  ///< where anything has a price
  std::vector<Until> until{};
  std::vector<std::string> warnings{};
};

std::string mix_text(const MixReport& report, const TerminalStyle& style);
std::string mix_json(const MixReport& report);
std::string mix_csv(const MixReport& report);

/// Cost against time: bands, prices' sources, the frontier. Precondition: `costs`.
std::string cost_svg(const CompareReport& report);
std::string cost_svg(const MixReport& report);

}  // namespace ddpsim
