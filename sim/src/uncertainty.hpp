// Named sources of error, each as another simulation: what would the answer be if this were so?
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/step.hpp"

namespace ddpsim {

/// For an all-reduce of `size` on this cluster: by its calibration, else by its kind.
Band duration_band(const Cluster& cluster, Bytes size);
/// What the band rests on, as a sentence without a full stop.
std::string band_evidence(const Cluster& cluster);

/// One way the world may differ from the model.
struct Scenario {
  std::string source;  ///< scenarios of one source are alternatives of each other
  SimulationOptions options;
  CollectiveModel model;
};

/// Sources that belong to a cluster and to a GPU; the others belong to PyTorch and are the same anywhere.
inline constexpr const char* kCollectiveTimes = "collective times";
inline constexpr const char* kComputeScale = "compute scale";

/// All scenarios, two per source: for every job the same sources in the same order, but that compute
/// scale, the last, may be absent.
std::vector<Scenario> scenarios(const SimulationOptions& options, const CollectiveModel& model);

/// What one scenario changes.
struct Deviation {
  std::string source;
  Duration by;
};

/// Independent deviations combined: root of the sum of squares of the worst of each source, apart
/// for the two directions. `extra` are further sources, one each.
struct Spread {
  Duration low;   ///< <= 0
  Duration high;  ///< >= 0
};
Spread combine(const std::vector<Deviation>& deviations, const std::vector<Duration>& extra);

/// Medians of seven or more iterations repeat to half a percent.
inline constexpr double kMeasurementNoise = 0.005;

/// PyTorch's own DDP benchmark (ResNet-50 and cap 25 on 1 to 16 V100s) took 0.8 to 4.5 % longer than
/// predicted, and nobody knows why. Unless today's step shows otherwise, so may any step.
inline constexpr double kUnexplained = 0.05;

}  // namespace ddpsim
