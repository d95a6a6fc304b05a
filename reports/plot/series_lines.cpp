#include "series_lines.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim::plot {
namespace {

constexpr double kLineWidth = 2;
constexpr double kThinWidth = 1.2;
constexpr double kBarWidth = 1.4;
constexpr std::size_t kMostMarkers = 80;

bool shows_markers(const Series& series) {
  return series.markers && (series.values.size() <= kMostMarkers || series.join == Join::none);
}

/// Both ends of a value's interval; absent if one of them has no place on the axis.
std::optional<std::pair<double, double>> drawn_interval(
    const std::optional<std::pair<double, double>>& interval, const Scale& scale) {
  if (!interval || !scale.draws(interval->first) || !scale.draws(interval->second))
    return std::nullopt;
  return interval;
}

/// Keeps the first, the two extremes and the last of many points in one column of pixels.
std::vector<Point> thinned(std::vector<Point> points, const Frame& frame) {
  constexpr double kColumn = 0.5;
  if (static_cast<double>(points.size()) <= frame.box.width / kColumn) return points;
  std::vector<Point> kept;
  for (std::size_t from = 0; from < points.size();) {
    const double column = std::floor(points[from].x / kColumn);
    std::size_t to = from;
    while (to < points.size() && std::floor(points[to].x / kColumn) == column) ++to;
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(to);
    const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
    auto [low, high] = std::minmax_element(begin, end, by_y);
    if (high < low) std::swap(low, high);
    auto last = end;
    for (const auto& one : {begin, low, high, end - 1})
      if (one != last) kept.push_back(*(last = one));
    from = to;
  }
  return kept;
}

/// Turns points into steps: each value holds until the next point.
std::vector<Point> as_steps(const std::vector<Point>& points) {
  std::vector<Point> steps;
  for (const Point& point : points) {
    if (!steps.empty()) steps.push_back({point.x, steps.back().y});
    steps.push_back(point);
  }
  return steps;
}

void draw_band(pugi::xml_node parent, const Series& series, const Frame& frame) {
  std::vector<Point> low;
  std::vector<Point> high;
  for (const Value& value : series.values) {
    const auto interval = drawn_interval(value.interval, frame.chart->y.scale);
    if (!interval || !frame.draws(value)) continue;
    low.push_back(frame.at(value.x, interval->first));
    high.push_back(frame.at(value.x, interval->second));
  }
  if (low.size() < 2) return;
  low = thinned(std::move(low), frame);
  high = thinned(std::move(high), frame);
  if (series.join == Join::steps) {
    low = as_steps(low);
    high = as_steps(high);
  }
  const std::string edge = line_class(series.look);
  for (const auto& side : {low, high})
    add(parent, "path",
        {{"class", edge},
         {"d", path_data(side)},
         {"fill", "none"},
         {"stroke-width", "0.75"},
         {"stroke-opacity", "0.55"}});
  std::vector<Point> around = std::move(low);
  around.insert(around.end(), high.rbegin(), high.rend());
  add(parent, "path",
      {{"class", "band " + area_class(series.look)}, {"d", path_data(around, true)}});
}

/// An interval as a bar with a foot at either end.
void draw_bar(pugi::xml_node parent, const Segment& bar, const std::string& css, double width,
              double foot = 4) {
  const bool flat = bar.from.y == bar.to.y;
  add_line(parent, bar, css, width);
  for (const Point& end : {bar.from, bar.to})
    add_line(parent,
             {{end.x - (flat ? 0 : foot), end.y - (flat ? foot : 0)},
              {end.x + (flat ? 0 : foot), end.y + (flat ? foot : 0)}},
             css, width);
}

std::vector<Segment> bars_of(const Series& series, const Frame& frame) {
  if (series.spread == Spread::beside_frame) return {};
  const Scale& along = frame.chart->rows ? frame.chart->x.scale : frame.chart->y.scale;
  std::vector<Segment> bars;
  for (const Value& value : series.values) {
    const auto interval = drawn_interval(value.interval, along);
    if (!interval || !frame.draws(value)) continue;
    const auto [low, high] = *interval;
    bars.push_back(frame.chart->rows ? Segment{frame.at(low, value.y), frame.at(high, value.y)}
                                     : Segment{frame.at(value.x, low), frame.at(value.x, high)});
  }
  return bars;
}

void draw_bars(pugi::xml_node parent, const Series& series, const Frame& frame) {
  // A bar that its marker hides is left out.
  const auto is_hidden = [&](const Segment& bar) {
    return shows_markers(series) && std::abs(bar.to.x - bar.from.x) < 2 * kMarkerRadius &&
           std::abs(bar.to.y - bar.from.y) < 2 * kMarkerRadius;
  };
  for (const Segment& bar : bars_of(series, frame))
    if (!is_hidden(bar)) draw_bar(parent, bar, line_class(series.look), kBarWidth);
}

bool is_band(const Series& series, const Frame& frame) {
  return series.spread == Spread::band && !frame.chart->rows && series.values.size() > 1;
}

Box around(Point at, double radius) {
  return {at.x - radius, at.y - radius, 2 * radius, 2 * radius};
}

}  // namespace

std::vector<Point> line_of(const Series& series, const Frame& frame) {
  std::vector<Point> points;
  for (const Value& value : series.values)
    if (frame.draws(value)) points.push_back(frame.at(value.x, value.y));
  points = thinned(std::move(points), frame);
  return series.join == Join::steps ? as_steps(points) : points;
}

void draw_areas(pugi::xml_node parent, const Frame& frame) {
  const Chart& chart = *frame.chart;
  const Box& box = frame.box;
  for (const ShadedRange& one : chart.ranges) {
    if (!chart.x.scale.draws(one.low) || !chart.x.scale.draws(one.high)) continue;
    const double from = frame.across(one.low);
    add_box(parent, {from, box.y, std::max(1.0, frame.across(one.high) - from), box.height},
            "shade");
  }
  for (const Layer& one : chart.layers) {
    if (!chart.y.scale.draws(one.low) || !chart.y.scale.draws(one.high)) continue;
    const double from = frame.down(one.high);
    add_box(parent, {box.x, from, box.width, std::max(1.0, frame.down(one.low) - from)}, "layer");
  }
  for (const Series& one : chart.series)
    if (is_band(one, frame)) draw_band(parent, one, frame);
}

void draw_lines(pugi::xml_node inside, const Frame& frame) {
  const Chart& chart = *frame.chart;
  for (const Level& level : chart.levels)
    if (chart.y.scale.covers(level.y)) {
      const double y = frame.down(level.y);
      add_line(inside, {{frame.box.x, y}, {frame.box.right(), y}}, "level", 1.2,
               level.bound ? "1.5 3.5" : "6 4");
    }
  for (const Series& one : chart.series) {
    const pugi::xml_node group = add(inside, "g");
    add_told(group, "title", one.told.empty() ? one.name : one.told);
    if (!is_band(one, frame)) draw_bars(group, one, frame);
    const std::vector<Point> line = line_of(one, frame);
    if (one.join == Join::none || line.size() < 2) continue;
    add(group, "path",
        {{"class", line_class(one.look)},
         {"d", path_data(line)},
         {"fill", "none"},
         {"stroke-width", pixels(one.thin || one.look.muted ? kThinWidth : kLineWidth)},
         {"stroke-linejoin", "round"},
         {"stroke-dasharray", std::string(dash_of(one.look))}});
  }
}

void draw_intervals_beside(pugi::xml_node parent, const Frame& frame) {
  std::size_t k = 0;
  for (const Series& one : frame.chart->series) {
    if (one.spread != Spread::beside_frame) continue;
    const double x = frame.box.right() + interval_at(k++);
    if (one.values.empty()) continue;
    if (const auto interval = drawn_interval(one.values.back().interval, frame.chart->y.scale))
      draw_bar(parent, {{x, frame.down(interval->first)}, {x, frame.down(interval->second)}},
               line_class(one.look), kBarWidth, 2);
  }
}

void draw_markers(pugi::xml_node parent, const Frame& frame) {
  const Chart& chart = *frame.chart;
  for (const Series& one : chart.series) {
    // A line of a single value would be invisible.
    if (!shows_markers(one) && one.values.size() > 1) continue;
    const pugi::xml_node group = add(parent, "g");
    for (const Value& value : one.values)
      if (frame.draws(value) && frame.covers(value.x, value.y))
        add_told(add_marker(group, frame.at(value.x, value.y), one.look, kMarkerRadius, one.filled),
                 "title", value.told);
  }
  for (const Spot& spot : chart.spots) {
    if (!frame.covers(spot.x, spot.y)) continue;
    const pugi::xml_node group = add(parent, "g");
    if (const auto interval = drawn_interval(spot.interval, chart.y.scale))
      draw_bar(
          group,
          {frame.at(spot.x, std::clamp(interval->first, chart.y.scale.low(), chart.y.scale.high())),
           frame.at(spot.x,
                    std::clamp(interval->second, chart.y.scale.low(), chart.y.scale.high()))},
          line_class(spot.look), kLineWidth);
    add_told(add_marker(group, frame.at(spot.x, spot.y), spot.look, kSpotRadius), "title",
             spot.name);
  }
}

Obstacles obstacles_in(const Frame& frame) {
  // Enough to say where a line runs.
  constexpr std::size_t kMostSegments = 200;
  constexpr double kClear = 2;
  const Chart& chart = *frame.chart;
  Obstacles obstacles;
  for (const Series& one : chart.series) {
    const std::vector<Point> line = line_of(one, frame);
    const std::size_t apart = line.size() / kMostSegments + 1;
    if (one.join != Join::none)
      for (std::size_t i = apart; i < line.size(); i += apart)
        obstacles.segments.push_back({line[i - apart], line[i]});
    if (!is_band(one, frame))
      for (const Segment& bar : bars_of(one, frame)) obstacles.segments.push_back(bar);
    if (shows_markers(one) && one.values.size() <= kMostMarkers)
      for (const Point& point : line) obstacles.boxes.push_back(around(point, kMarkerRadius));
  }
  for (const Level& level : chart.levels)
    if (chart.y.scale.covers(level.y)) {
      const double y = frame.down(level.y);
      obstacles.segments.push_back({{frame.box.x, y}, {frame.box.right(), y}});
    }
  for (const Spot& spot : chart.spots) {
    if (!frame.covers(spot.x, spot.y)) continue;
    const Point at = frame.at(spot.x, spot.y);
    obstacles.boxes.push_back(around(at, kSpotRadius + kClear));
    if (const auto interval = drawn_interval(spot.interval, chart.y.scale))
      obstacles.segments.push_back(
          {{at.x, frame.down(interval->first)}, {at.x, frame.down(interval->second)}});
  }
  return obstacles;
}

}  // namespace ddpsim::plot
