// Named sources of error, each as another simulation: what would the answer be if this were so?
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/step.hpp"

namespace ddpsim {

/// One way the world may differ from the model.
struct Scenario {
  std::string source;  ///< scenarios of one source are alternatives of each other
  SimulationOptions options;
  CollectiveModel model;
};

/// All scenarios, two per source.
std::vector<Scenario> scenarios(const SimulationOptions& options, const CollectiveModel& model);

/// Independent deviations combined: root of the sum of squares of the worst of each source, apart
/// for the two directions. `deviations[i]` belongs to scenario i; `extra` are further sources.
struct Spread {
  Duration low;   ///< <= 0
  Duration high;  ///< >= 0
};
Spread combine(const std::vector<Scenario>& sources, const std::vector<Duration>& deviations,
               const std::vector<Duration>& extra);

/// Medians of seven or more iterations repeat to half a percent.
inline constexpr double kMeasurementNoise = 0.005;

}  // namespace ddpsim
