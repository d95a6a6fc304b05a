// Places labels beside what they name, so that no two of them collide.
//
// A label may stand in one of eight directions and at growing distances from any of its anchors. Labels choose in turn.
// Distance and hidden lines count against a place; another label, a marker or the edge rules it out. A line ties a distant
// label to its anchor.
#pragma once

#include <optional>
#include <vector>

namespace ddpsim::plot {

struct Point {
  double x;
  double y;
};

/// Pixels; y grows downwards.
struct Box {
  double x;
  double y;
  double width;
  double height;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};
bool overlap(const Box& a, const Box& b);
bool inside(const Box& inner, const Box& outer);

struct Segment {
  Point from;
  Point to;
};
bool crosses(const Segment& segment, const Box& box);

struct Label {
  std::vector<Point> anchors;  ///< the likeliest first
  double width;
  double height;
  bool centred = false;  ///< may stand on its anchor itself
};

struct PlacedLabel {
  Box box;
  std::optional<Segment> leader;  ///< from the anchor to the box
  /// Side of its anchor: -1 to the left, 1 to the right.
  int side = 0;
  /// Whether it stands directly to the right of its first anchor.
  bool behind = false;
};

/// Marks that labels have to respect.
struct Obstacles {
  std::vector<Box> boxes;         ///< not to be covered
  std::vector<Segment> segments;  ///< better not covered
};

/// Places in the order of `labels`; absent if no place inside `area` is left.
std::vector<std::optional<PlacedLabel>> place_labels(const std::vector<Label>& labels,
                                                     const Box& area, Obstacles obstacles);

}  // namespace ddpsim::plot
