// What a figure shows, before anything is drawn: axes, series with their bands, marks and words. Values stand in the
// units of their axis. A value without a place on it (NaN, infinity, 0 on a logarithmic axis) is left out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scale.hpp"
#include "ticks.hpp"

namespace ddpsim::plot {

/// Looks differ without colour, too: each has a marker and a dash of its own (palette.hpp).
struct Look {
  std::size_t index = 0;
  /// Grey and thin: what the coloured series are compared with.
  bool muted = false;
};

struct Axis {
  /// With its unit.
  std::string title;
  Scale scale;
  std::vector<Tick> ticks;
};

struct Value {
  double x;
  double y;
  /// 80 % interval: along y, or along x in a chart of rows.
  std::optional<std::pair<double, double>> interval = {};
  /// Tooltip of its marker.
  std::string told = {};
};

/// How one value is joined to the next. Steps: each value holds until the next one.
enum class Join { none, straight, steps };
/// How intervals are drawn. Beside the frame: only the last value's, to the right of the frame, so that many series stay
/// readable.
enum class Spread { band, bars, beside_frame };

struct Series {
  /// Written at the end of the line or, if there is no room, in the legend. May be empty.
  std::string name;
  /// Tooltip of the line; empty: its name.
  std::string told = {};
  std::vector<Value> values;
  Look look;
  Join join = Join::straight;
  Spread spread = Spread::band;
  bool markers = true;
  /// Muted series are thin, too.
  bool thin = false;
  /// Hollow markers: measured values.
  bool filled = true;
};

/// A part of the x axis, lightly shaded.
struct ShadedRange {
  double low;
  double high;
  std::string name;
};

/// Lightly shaded between two values of y.
struct Layer {
  double low;
  double high;
  std::string name;
};

/// A line across.
struct Level {
  double y;
  std::string name;
  /// Dotted: no value can pass it.
  bool bound = false;
};

/// One point that matters, larger than the values of a series.
struct Spot {
  double x;
  double y;
  std::optional<std::pair<double, double>> interval;
  std::string name;
  Look look;
};

/// Above the frame: what holds between two values of x.
struct Phase {
  double low;
  double high;
  std::string name;
};

struct Chart {
  std::string title;
  std::string subtitle;
  /// May be empty.
  std::string verdict;
  /// For readers who cannot see the figure.
  std::string description;
  /// Above its own frame, if the figure has several charts.
  std::string caption = {};
  Axis x;
  Axis y;
  /// The y axis has no quantity: its ticks name rows, the first on top, and intervals lie along x.
  bool rows = false;
  std::vector<Phase> phases;
  std::vector<ShadedRange> ranges;
  std::vector<Layer> layers;
  std::vector<Level> levels;
  std::vector<Series> series;
  std::vector<Spot> spots;
  /// Below the figure: what is predicted, what the band means, sources.
  std::vector<std::string> notes;
};

/// One SVG document, the same bytes for the same chart: no script, no font, nothing loaded, light and dark.
std::string svg(const Chart& chart);

/// One SVG document with several charts, row by row in `columns` columns. Title, verdict, description and notes come
/// from the first chart.
std::string svg(const std::vector<Chart>& charts, std::size_t columns);

}  // namespace ddpsim::plot
