// What a figure shows, before anything is drawn: axes, series with their bands, marks and words. Values stand in the
// units of their axis; what has no place on it (NaN, infinities, 0 on a logarithmic one) is left out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scale.hpp"
#include "ticks.hpp"

namespace ddpsim::plot {

/// Told apart without colour, too: each has a marker and a dash of its own (palette.hpp).
struct Look {
  std::size_t index = 0;
};

struct Axis {
  std::string title;  ///< with its unit
  Scale scale;
  std::vector<Tick> ticks;
};

struct Value {
  double x;
  double y;
  /// Four in five measurements would lie between; along y, or along x in a series of rows.
  std::optional<std::pair<double, double>> interval = {};
  std::string told = {};  ///< what a reader is told who points at its marker
};

/// How one value goes over into the next. Steps: each holds until the next one.
enum class Join { none, straight, steps };
/// Where values have an interval.
enum class Spread { band, bars };

struct Series {
  std::string name;  ///< beside the line or, where there is no room, in the legend; may be empty
  std::vector<Value> values;
  Look look;
  Join join = Join::straight;
  Spread spread = Spread::band;
  bool markers = true;
  bool filled = true;  ///< its markers; hollow: what was measured
};

/// A stretch of the x axis, lightly shaded.
struct Stretch {
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
  bool bound = false;  ///< what nothing can get below or above: dotted
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
  std::string verdict;      ///< may be empty
  std::string description;  ///< for those who do not see it
  Axis x;
  Axis y;
  /// y is no quantity: its ticks name rows, the first on top, and intervals lie along x.
  bool rows = false;
  std::vector<Phase> phases;
  std::vector<Stretch> stretches;
  std::vector<Layer> layers;
  std::vector<Level> levels;
  std::vector<Series> series;
  std::vector<Spot> spots;
  std::vector<std::string> notes;  ///< below: what is predicted, what the band means, sources
};

/// One SVG document, the same bytes for the same chart: no script, no font, nothing loaded, light and dark.
std::string svg(const Chart& chart);

}  // namespace ddpsim::plot
