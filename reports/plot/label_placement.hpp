// Words beside what they name, so that no two of them collide.
//
// Every label may stand in one of eight directions and at growing distances from any of its anchors; those in front
// choose first. What counts against a place is its distance and the lines it would hide; what rules it out is
// another label, a marker, or the edge. A label that stands farther off is tied to its anchor by a line.
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
  int side = 0;                   ///< of its anchor: -1 to the left, 1 to the right
  bool behind = false;            ///< directly to the right of its first anchor
};

/// What is there already.
struct Obstacles {
  std::vector<Box> boxes;         ///< not to be covered
  std::vector<Segment> segments;  ///< better not covered
};

/// In the order of `labels`; absent where no place is left inside `area`.
std::vector<std::optional<PlacedLabel>> place_labels(const std::vector<Label>& labels,
                                                     const Box& area, Obstacles obstacles);

}  // namespace ddpsim::plot
