// Series, bands and marks as lines and areas inside a frame.
#pragma once

#include <pugixml.hpp>
#include <vector>

#include "frame.hpp"

namespace ddpsim::plot {

/// Points of the series' line, by x. If there are more than the frame has columns of pixels, only the first, the least,
/// the greatest and the last of each column.
std::vector<Point> line_of(const Series& series, const Frame& frame);

/// Shades, layers and bands, which lie behind lines.
void draw_areas(pugi::xml_node parent, const Frame& frame);
/// Lines and bars. `inside` ends at the frame; markers do not.
void draw_lines(pugi::xml_node inside, const Frame& frame);
/// Intervals to the right of the frame (Spread::beside_frame).
void draw_intervals_beside(pugi::xml_node parent, const Frame& frame);
void draw_markers(pugi::xml_node parent, const Frame& frame);

/// What labels have to keep clear of.
Obstacles obstacles_in(const Frame& frame);

inline constexpr double kMarkerRadius = 3.2;
inline constexpr double kSpotRadius = 5.5;

}  // namespace ddpsim::plot
