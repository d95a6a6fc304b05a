// What logs of gloo's all-reduces show about one cluster's hosts, as its file stores it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/calibration.hpp"
#include "ddpsim/sim/values/gloo.hpp"

namespace ddpsim {

/// A constant of GlooLinks that can be fitted to logs.
struct GlooConstant {
  std::string_view name;  ///< as in a cluster file: "process_gbps"
  std::string_view word;  ///< in --gloo: "process"
  std::string_view unit;  ///< "GB/s"
  std::string_view meaning;
  double (*of)(const GlooLinks&);
  void (*set)(GlooLinks&, double);
  /// Range of values that a file may hold and that a fit may find.
  double least, most;
};
std::span<const GlooConstant> gloo_constants();

struct GlooCalibration {
  /// Constants that were not fitted have their defaults.
  GlooLinks links;
  std::vector<const GlooConstant*> fitted;
  /// Standard deviation of the logarithm of a time at numbers of ranks that were measured. Each
  /// size is predicted from the others.
  SizeSpread deviation;
  /// Standard deviation of the logarithm of a time at numbers of ranks that were not measured. It
  /// is found by predicting each measured number from the others. Absent if only one number was
  /// measured.
  std::optional<SizeSpread> other_ranks_deviation;
  std::vector<CalibratedShape> logs;  ///< at least one
};

/// Whether there is a log with this number of nodes and of processes on each.
bool is_calibrated_at(const GlooCalibration& calibration, int nodes, int gpus_per_node);

}  // namespace ddpsim
