// What stands beside lines, levels and spots, and the legend of what found no place there.
#pragma once

#include <pugixml.hpp>
#include <vector>

#include "frame.hpp"

namespace ddpsim::plot {

/// One line of the legend: how it is drawn, and its name.
struct LegendEntry {
  enum class Sample { series, spot, level, stretch, layer };
  Sample sample;
  Look look;
  std::string name;
  bool joined = false;  ///< by a line
  bool filled = true;
};

/// Writes each name beside what it names; gives back those without room.
std::vector<LegendEntry> draw_names(pugi::xml_node parent, const Frame& frame);

/// From `top` on; gives back where it ends.
double draw_legend(pugi::xml_node parent, const std::vector<LegendEntry>& entries, double top);

}  // namespace ddpsim::plot
