// Series, bands and marks as lines and areas inside a frame.
#pragma once

#include <pugixml.hpp>
#include <vector>

#include "frame.hpp"

namespace ddpsim::plot {

/// Its values that have a place, by x, joined as asked; where they are more than the frame has columns, each column's
/// first, least, greatest and last.
std::vector<Point> line_of(const Series& series, const Frame& frame);

/// What lies behind lines: shades, layers, bands.
void draw_areas(pugi::xml_node parent, const Frame& frame);
/// Lines and bars. `inside` ends at the frame; markers do not.
void draw_lines(pugi::xml_node inside, const Frame& frame);
void draw_markers(pugi::xml_node parent, const Frame& frame);

/// What labels have to keep clear of.
Obstacles obstacles_in(const Frame& frame);

inline constexpr double kMarkerRadius = 3.2;
inline constexpr double kSpotRadius = 5.5;

}  // namespace ddpsim::plot
