#include "frame.hpp"

#include <algorithm>

namespace ddpsim::plot {
namespace {

constexpr double kFrameHeight = 300;
constexpr double kRowHeight = 24;
constexpr double kTickGap = 8;        // between a word and the frame
constexpr double kMostOfRows = 360;   // that names of rows may take to the left
constexpr double kMostOfNames = 200;  // … those of series to the right
constexpr double kSample = 27;        // in front of the name of a series

double widest_tick(const Axis& axis) {
  double width = 0;
  for (const Tick& tick : axis.ticks) width = std::max(width, text_width(tick.label, kTickFont));
  return width;
}

/// Where lines end at the right, their names stand behind them.
double room_for_names(const Chart& chart) {
  constexpr double kAtTheEnd = 0.7;  // of the axis: lines that end before it are named inside
  double width = 0;
  for (const Series& one : chart.series)
    if (one.join != Join::none && !chart.rows && !one.values.empty() &&
        chart.x.scale.draws(one.values.back().x) &&
        chart.x.scale.share(one.values.back().x) > kAtTheEnd)
      width = std::max(width, text_width(one.name, kLabelFont));
  constexpr double kLabelMargin = 12;
  return width == 0 ? 0 : std::min(kMostOfNames, width + kSample) + kLabelMargin;
}

}  // namespace

Frame frame_for(const Chart& chart, double top) {
  const double left =
      kMargin + kTickGap +
      (chart.rows ? std::min(kMostOfRows, widest_tick(chart.y)) : widest_tick(chart.y));
  // The last word of the x axis is centred below its tick.
  const double right = kMargin + std::max(room_for_names(chart), widest_tick(chart.x) / 2);
  const double height =
      chart.rows ? kRowHeight * static_cast<double>(std::max<std::size_t>(1, chart.y.ticks.size()))
                 : kFrameHeight;
  return {{left, top, kPageWidth - left - right, height}, &chart};
}

void draw_grid(pugi::xml_node parent, const Frame& frame) {
  const Box& box = frame.box;
  const pugi::xml_node grid = add(parent, "g");
  for (const Tick& tick : frame.chart->x.ticks)
    if (frame.chart->x.scale.covers(tick.value)) {
      const double x = frame.across(tick.value);
      add_line(grid, {{x, box.y}, {x, box.bottom()}}, "grid", 1);
    }
  for (const Tick& tick : frame.chart->y.ticks)
    if (frame.chart->y.scale.covers(tick.value)) {
      const double y = frame.down(tick.value);
      add_line(grid, {{box.x, y}, {box.right(), y}}, "grid", 1);
    }
}

void draw_axes(pugi::xml_node parent, const Frame& frame) {
  constexpr double kTickLength = 4;
  const Chart& chart = *frame.chart;
  const Box& box = frame.box;
  const pugi::xml_node axes = add(parent, "g");
  add_line(axes, {{box.x, box.bottom()}, {box.right(), box.bottom()}}, "axis", 1);
  double written_from = 2 * kPageWidth;  // words that would touch the one behind are left out
  for (auto one = chart.x.ticks.rbegin(); one != chart.x.ticks.rend(); ++one) {
    const Tick& tick = *one;
    if (!chart.x.scale.covers(tick.value)) continue;
    const double x = frame.across(tick.value);
    add_line(axes, {{x, box.bottom()}, {x, box.bottom() + kTickLength}}, "axis", 1);
    const double half = text_width(tick.label, kTickFont) / 2;
    if (tick.label.empty() || x + half > written_from - kTickGap / 2) continue;
    written_from = x - half;
    add_text(axes, {x, box.bottom() + kTickLength + line_height(kTickFont)}, tick.label, kTickFont,
             Anchor::middle);
  }
  constexpr double kRounding = 0.5;
  const double width = box.x - kMargin - kTickGap + kRounding;
  for (const Tick& tick : chart.y.ticks) {
    if (tick.label.empty() || !chart.y.scale.covers(tick.value)) continue;
    const double baseline = frame.down(tick.value) + kTickFont.size / 3;
    add_text(axes, {box.x - kTickGap, baseline}, fitted(tick.label, width, kTickFont), kTickFont,
             Anchor::end);
  }
  add_text(axes, {box.right(), box.bottom() + kTickLength + 2.3 * line_height(kTickFont)},
           fitted(chart.x.title, box.width, kAxisFont), kAxisFont, Anchor::end);
}

PhaseLines lay_out_phases(const Chart& chart, const Frame& frame) {
  constexpr std::size_t kMostRows = 4;
  constexpr double kApart = 5;
  struct Taken {
    std::size_t row;
    double from, to, centre;
  };
  std::vector<Taken> taken;
  PhaseLines lines;
  for (const Phase& phase : chart.phases) {
    const double centre = (frame.across(phase.low) + frame.across(phase.high)) / 2;
    const double width = text_width(phase.name, kAsideFont);
    const double from = std::clamp(centre - width / 2, frame.box.x,
                                   std::max(frame.box.x, kPageWidth - kMargin - width));
    const Taken own{0, from - kApart, from + width + kApart, centre};
    std::size_t row = 0;
    const auto in_the_way = [&](const Taken& other) {
      if (other.row == row) return own.from < other.to && other.from < own.to;
      // The line that ties the higher one to the frame passes the lower one.
      const Taken& lower = other.row < row ? other : own;
      const double line = other.row < row ? own.centre : other.centre;
      return lower.from < line && line < lower.to;
    };
    while (row < kMostRows && std::ranges::any_of(taken, in_the_way)) ++row;
    if (row == kMostRows || width > frame.box.width) {
      lines.row.push_back(kNoRow);
      continue;
    }
    taken.push_back({row, own.from, own.to, centre});
    lines.row.push_back(row);
    lines.height =
        std::max(lines.height, static_cast<double>(row + 1) * line_height(kAsideFont) + kApart);
  }
  return lines;
}

void draw_phases(pugi::xml_node parent, const Frame& frame, const PhaseLines& lines) {
  const Chart& chart = *frame.chart;
  const Box& box = frame.box;
  const pugi::xml_node group = add(parent, "g");
  for (std::size_t i = 0; i < chart.phases.size(); ++i) {
    const Phase& phase = chart.phases[i];
    if (i > 0) {
      const double x = frame.across(phase.low);
      add_line(group, {{x, box.y}, {x, box.bottom()}}, "axis", 1, "1 3");
    }
    if (lines.row[i] == kNoRow) continue;
    const double centre = (frame.across(phase.low) + frame.across(phase.high)) / 2;
    const double width = text_width(phase.name, kAsideFont);
    const double from =
        std::clamp(centre - width / 2, box.x, std::max(box.x, kPageWidth - kMargin - width));
    constexpr double kAboveFrame = 6;
    const double baseline =
        box.y - kAboveFrame - static_cast<double>(lines.row[i]) * line_height(kAsideFont);
    add_line(group, {{centre, baseline + 3}, {centre, box.y}}, "leader", 0.75);
    add_text(group, {from + width / 2, baseline}, phase.name, kAsideFont, Anchor::middle, "aside");
  }
}

}  // namespace ddpsim::plot
