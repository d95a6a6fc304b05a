// Training speed by number of GPUs, a line for each family of clusters that is there in several sizes; where none is, the
// clusters in rows, fastest first.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chart.hpp"

namespace ddpsim {

struct SpeedPoint {
  std::string family;  ///< its sizes make one line
  std::string name;    ///< where it is the only size
  int gpus = 0;
  double speed = 0;
  std::optional<std::pair<double, double>> interval;
  std::string told;  ///< to who points at it
};

bool in_several_sizes(const std::vector<SpeedPoint>& points);
/// Axes and series. `unit`: of speeds, "samples/s"; `row`: what a row is, "cluster".
void draw_speeds(plot::Chart& chart, const std::vector<SpeedPoint>& points, const std::string& unit,
                 const std::string& row);

}  // namespace ddpsim
