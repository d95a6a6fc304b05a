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

/// Height of a line of text: from one baseline to the next, and above a baseline.
constexpr double line_height(Font font) {
  return 1.42 * font.size;
}
constexpr double above_line(Font font) {
  return 0.95 * font.size;
}

struct Frame {
  Box box;
  const Chart* chart;
  /// Left and right end of what may be drawn on: the page, or the chart's column of it.
  double left = 0;
  double right = kPageWidth;
  /// Widest name that stands where its line ends.
  double widest_name = 0;

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

/// Room that a frame leaves to its left for the words of the y axis, to its right for intervals and names of series.
struct Margins {
  double left = 0;
  double right = 0;
};
/// `widest_name`: wider names of series go to the legend, which has room for them. `width`: what the chart may take in all.
Margins margins_of(const Chart& chart, double widest_name, double width);
/// The frame with its margins begins at `left`; it is `width` wide without them.
Frame frame_for(const Chart& chart, const Margins& margins, double left, double width, double top);

/// Whether the series' name stands at the right end of the frame, where its line ends.
bool ends_at_the_right(const Series& series, const Chart& chart);
/// Distance from the frame to the names on its right: intervals stand in between.
double names_from(const Chart& chart);
/// Distance from the frame to the k-th interval on its right.
double interval_at(std::size_t k);
/// Room for a marker in front of a name on the right of the frame.
inline constexpr double kNameSample = 16;

/// Grid and shades behind what is drawn.
void draw_grid(pugi::xml_node parent, const Frame& frame);
/// Axis lines, tick labels and the title of the x axis.
void draw_axes(pugi::xml_node parent, const Frame& frame);
/// Names of phases above the frame, from `frame.box.y` upwards.
struct PhaseLines {
  double height = 0;
  /// Line of each phase's name; kNoRow: it has no room.
  std::vector<std::size_t> row;
};
inline constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
PhaseLines lay_out_phases(const Chart& chart, const Frame& frame);
void draw_phases(pugi::xml_node parent, const Frame& frame, const PhaseLines& lines);

}  // namespace ddpsim::plot
