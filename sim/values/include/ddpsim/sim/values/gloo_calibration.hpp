// What logs of gloo's all-reduces say of one cluster's hosts, as its file carries it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/sim/values/gloo.hpp"

namespace ddpsim {

/// A figure of GlooLinks that logs may tell.
struct GlooConstant {
  std::string_view name;  ///< as in a cluster file: "process_gbps"
  std::string_view word;  ///< of --gloo: "process"
  std::string_view unit;  ///< "GB/s"
  std::string_view meaning;
  double (*of)(const GlooLinks&);
  void (*set)(GlooLinks&, double);
  double least, most;  ///< what may stand in a file, and what a fit finds
};
std::span<const GlooConstant> gloo_constants();

struct GlooCalibration {
  GlooLinks links;  ///< those that are not fitted are as GlooLinks has them
  std::vector<const GlooConstant*> fitted;
  /// Of the logarithm of a time, one standard deviation: at numbers of ranks that were measured,
  /// each size predicted from the others; and of each number of ranks predicted from the others,
  /// where there are several.
  SizeSpread deviation;
  std::optional<SizeSpread> other_ranks_deviation;
  std::vector<CalibratedShape> logs;  ///< at least one
};

/// Of that many nodes and processes on each.
bool is_calibrated_at(const GlooCalibration& calibration, int nodes, int gpus_per_node);

}  // namespace ddpsim
