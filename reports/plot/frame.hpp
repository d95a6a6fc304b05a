// The rectangle in which values are drawn, and the axes around it.
#pragma once

#include <pugixml.hpp>

#include "chart.hpp"
#include "svg_element.hpp"

namespace ddpsim::plot {

inline constexpr double kPageWidth = 760;
inline constexpr double kMargin = 16;
inline constexpr Font kTickFont{11.5};
inline constexpr Font kAxisFont{12};
inline constexpr Font kLabelFont{12};
inline constexpr Font kSpotFont{12, true};
inline constexpr Font kAsideFont{11};

/// Heights of a line of text, from one line of writing to the next, and above and below it.
constexpr double line_height(Font font) {
  return 1.42 * font.size;
}
constexpr double above_line(Font font) {
  return 0.95 * font.size;
}

struct Frame {
  Box box;
  const Chart* chart;

  double across(double x) const { return box.x + box.width * chart->x.scale.share(x); }
  double down(double y) const {
    const double share = chart->y.scale.share(y);
    return box.y + box.height * (chart->rows ? share : 1 - share);
  }
  Point at(double x, double y) const { return {across(x), down(y)}; }
  bool draws(const Value& value) const {
    return chart->x.scale.draws(value.x) && chart->y.scale.draws(value.y);
  }
  bool covers(double x, double y) const {
    return chart->x.scale.covers(x) && chart->y.scale.covers(y);
  }
};

/// Room that the words of the y axis take to the left, those of series to the right.
Frame frame_for(const Chart& chart, double top);

/// Grid and shades behind what is drawn.
void draw_grid(pugi::xml_node parent, const Frame& frame);
/// Lines, words of ticks and titles.
void draw_axes(pugi::xml_node parent, const Frame& frame);
/// Above the frame, from `frame.box.y` upwards; names without room are told in `unplaced`.
struct PhaseLines {
  double height = 0;
  std::vector<std::size_t> row;  ///< of each phase; kNoRow: its name has no room
};
inline constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
PhaseLines lay_out_phases(const Chart& chart, const Frame& frame);
void draw_phases(pugi::xml_node parent, const Frame& frame, const PhaseLines& lines);

}  // namespace ddpsim::plot
