// Training speed by number of GPUs: in all, where twice the GPUs should be twice as fast, and per GPU, where clusters that
// scale differently come apart. Each family of clusters that is there in several sizes is a line; the fastest have colours,
// the others are grey. Several workloads have a chart each, per GPU. If no cluster is there in several sizes, clusters stand
// in rows, fastest first.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chart.hpp"

namespace ddpsim {

struct SpeedPoint {
  /// Only a sweep has several.
  std::string workload;
  /// Family of clusters; the sizes of one family make one line.
  std::string family;
  /// Name of a cluster with a single size.
  std::string name;
  int gpus = 0;
  double speed = 0;
  std::optional<std::pair<double, double>> interval;
  /// Speed if every GPU were as fast as one that works alone. Absent if it is not known.
  std::optional<double> ideal;
  /// Tooltip.
  std::string told;
};

/// Whether any line can be drawn.
bool in_several_sizes(const std::vector<SpeedPoint>& points);

struct SpeedCharts {
  /// One or more.
  std::vector<plot::Chart> charts;
  std::size_t columns = 1;
  /// What intervals, dashed and grey lines mean.
  std::vector<std::string> notes;
};

/// Axes and series. `unit` of speeds: "samples/s"; `row`: what a row is, "cluster".
SpeedCharts speed_charts(const std::vector<SpeedPoint>& points, const std::string& unit,
                         const std::string& row);

}  // namespace ddpsim
