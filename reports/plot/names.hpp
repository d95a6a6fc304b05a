// Names beside lines, levels and spots, and the legend of names that found no place there. No name is cut.
#pragma once

#include <pugixml.hpp>
#include <vector>

#include "frame.hpp"

namespace ddpsim::plot {

/// One line of the legend: how it is drawn, and its name.
struct LegendEntry {
  enum class Sample { series, spot, level, range, layer };
  Sample sample;
  Look look;
  std::string name;
  /// Whether a line joins the values.
  bool joined = false;
  bool filled = true;
};

/// Writes each name beside what it names. Returns the names without room.
std::vector<LegendEntry> draw_names(pugi::xml_node parent, const Frame& frame);

/// Draws from `top` on and returns where the legend ends.
double draw_legend(pugi::xml_node parent, const std::vector<LegendEntry>& entries, double top);

}  // namespace ddpsim::plot
