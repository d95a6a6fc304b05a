// Named sources of error, each as another simulation: what would the answer be if this were so?
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/correction.hpp"
#include "ddpsim/sim/step.hpp"

namespace ddpsim {

/// A small all-reduce moves next to nothing: what it takes is the fixed cost of any.
inline constexpr Bytes kSmallAllReduce{32 * 1024};

/// For an all-reduce of `size` on this cluster: by its calibration, else by its kind.
Band duration_band(const Cluster& cluster, Bytes size);
/// What the band rests on, as a sentence without a full stop.
std::string band_evidence(const Cluster& cluster);

/// One way the world may differ from the model.
struct Scenario {
  std::string source;  ///< scenarios of one source are alternatives of each other
  Job job;
};

/// Sources that belong to a cluster, to its hosts and to a GPU …
inline constexpr const char* kFixedCost = "fixed cost of collectives";
inline constexpr const char* kBandwidth = "bandwidth of collectives";
inline constexpr const char* kRankPace = "pace of several ranks";
inline constexpr const char* kComputeScale = "compute scale";
/// … and those that belong to PyTorch and NCCL and are the same anywhere.
inline constexpr const char* kInterference = "interference";
inline constexpr const char* kCosts = "copies and host costs";
/// Fixed cost and bandwidth together: of gloo, and in a table of all-reduces.
inline constexpr const char* kCollectiveTimes = "collective times";
/// What the replay of today's step leaves unexplained.
inline constexpr const char* kReplayResidual = "today's residual";

/// All scenarios, two per source: for every job the same sources in the same order, but that pace and
/// compute scale, the last, may be absent.
std::vector<Scenario> scenarios(const Job& job);

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

}  // namespace ddpsim
