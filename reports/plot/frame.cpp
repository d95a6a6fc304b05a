#include "frame.hpp"

#include <algorithm>

namespace ddpsim::plot {
namespace {

constexpr double kFrameHeight = 300;
constexpr double kFrameHeightInColumns = 230;
constexpr double kRowHeight = 24;
/// Between a word and the frame.
constexpr double kTickGap = 8;
/// Most that names of rows may take of the width.
constexpr double kMostOfRows = 0.5;
constexpr std::size_t kMostLinesOfRow = 4;
constexpr double kBetweenIntervals = 7;

double widest_tick(const Axis& axis) {
  double width = 0;
  for (const Tick& tick : axis.ticks) width = std::max(width, text_width(tick.label, kTickFont));
  return width;
}

/// The names of rows, in as many lines as they need.
std::vector<std::vector<std::string>> lines_of_rows(const Chart& chart, double width) {
  constexpr double kRounding = 0.5;
  std::vector<std::vector<std::string>> rows;
  for (const Tick& tick : chart.y.ticks)
    rows.push_back(fitted_lines(xml_text(tick.label), width + kRounding, kTickFont,
                                chart.rows ? kMostLinesOfRow : 1));
  return rows;
}

}  // namespace

bool ends_at_the_right(const Series& series, const Chart& chart) {
  constexpr double kAtTheEnd = 0.7;  // of the axis
  return series.join != Join::none && !chart.rows && !series.values.empty() &&
         chart.x.scale.draws(series.values.back().x) &&
         chart.x.scale.share(series.values.back().x) > kAtTheEnd;
}

double interval_at(std::size_t k) {
  return kTickGap + kBetweenIntervals * static_cast<double>(k);
}

double names_from(const Chart& chart) {
  const auto beside = std::ranges::count(chart.series, Spread::beside_frame, &Series::spread);
  return interval_at(static_cast<std::size_t>(beside));
}

Margins margins_of(const Chart& chart, double widest_name, double width) {
  double names = 0;
  for (const Series& one : chart.series) {
    const double name = text_width(one.name, kLabelFont);
    if (ends_at_the_right(one, chart) && name <= widest_name) names = std::max(names, name);
  }
  const double beside = names_from(chart) - interval_at(0);
  if (names > 0)
    names += names_from(chart) + kNameSample;
  else if (beside > 0)
    names = names_from(chart);
  const double ticks = widest_tick(chart.y);
  // The last word of the x axis is centred below its tick.
  return {kTickGap + (chart.rows ? std::min(kMostOfRows * width, ticks) : ticks),
          std::max(names, widest_tick(chart.x) / 2)};
}

Frame frame_for(const Chart& chart, const Margins& margins, double left, double width, double top) {
  constexpr double kColumn = 0.6;  // of the page
  double height = width < kColumn * kPageWidth ? kFrameHeightInColumns : kFrameHeight;
  if (chart.rows) {
    std::size_t lines = 1;
    for (const auto& row : lines_of_rows(chart, margins.left - kTickGap))
      lines = std::max(lines, row.size());
    height = (kRowHeight + static_cast<double>(lines - 1) * line_height(kTickFont)) *
             static_cast<double>(std::max<std::size_t>(1, chart.y.ticks.size()));
  }
  return {{left + margins.left, top, width, height},
          &chart,
          left,
          left + margins.left + width + margins.right,
          0};
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
  double written_from = 2 * kPageWidth;  // left end of the word to the right
  for (auto one = chart.x.ticks.rbegin(); one != chart.x.ticks.rend(); ++one) {
    const Tick& tick = *one;
    if (!chart.x.scale.covers(tick.value)) continue;
    const double x = frame.across(tick.value);
    add_line(axes, {{x, box.bottom()}, {x, box.bottom() + kTickLength}}, "axis", 1);
    const double half = text_width(tick.label, kTickFont) / 2;
    // A word that would touch its neighbour is left out.
    if (tick.label.empty() || x + half > written_from - kTickGap / 2) continue;
    written_from = x - half;
    add_text(axes, {x, box.bottom() + kTickLength + line_height(kTickFont)}, tick.label, kTickFont,
             Anchor::middle);
  }
  const auto lines = lines_of_rows(chart, box.x - frame.left - kTickGap);
  for (std::size_t i = 0; i < chart.y.ticks.size(); ++i) {
    const Tick& tick = chart.y.ticks[i];
    if (tick.label.empty() || !chart.y.scale.covers(tick.value)) continue;
    double baseline = frame.down(tick.value) + kTickFont.size / 3 -
                      static_cast<double>(lines[i].size() - 1) * line_height(kTickFont) / 2;
    for (const std::string& line : lines[i]) {
      add_text(axes, {box.x - kTickGap, baseline}, line, kTickFont, Anchor::end);
      baseline += line_height(kTickFont);
    }
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
    const double from =
        std::clamp(centre - width / 2, frame.box.x, std::max(frame.box.x, frame.right - width));
    const Taken own{0, from - kApart, from + width + kApart, centre};
    std::size_t row = 0;
    const auto in_the_way = [&](const Taken& other) {
      if (other.row == row) return own.from < other.to && other.from < own.to;
      // The line from the higher name to the frame must not pass through the lower name.
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
    const double from = std::clamp(centre - width / 2, box.x, std::max(box.x, frame.right - width));
    constexpr double kAboveFrame = 6;
    const double baseline =
        box.y - kAboveFrame - static_cast<double>(lines.row[i]) * line_height(kAsideFont);
    add_line(group, {{centre, baseline + 3}, {centre, box.y}}, "leader", 0.75);
    add_text(group, {from + width / 2, baseline}, phase.name, kAsideFont, Anchor::middle, "aside");
  }
}

}  // namespace ddpsim::plot
