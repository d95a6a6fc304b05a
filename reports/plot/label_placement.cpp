#include "label_placement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ddpsim::plot {
namespace {

/// Pixels between an anchor and its label. From kLeaderFrom on, a line ties the two.
constexpr std::array kDistances = {7.0, 13.0, 22.0, 32.0, 46.0, 62.0, 84.0, 110.0, 140.0};
constexpr double kLeaderFrom = 20;
/// Costs of a place, in pixels of distance that are as bad: for each line it hides, for each likelier anchor, for each more
/// usual direction.
constexpr double kLineHidden = 60;
constexpr double kNextAnchor = 6;
constexpr double kAside = 3;
/// Share of a diagonal distance along either axis.
constexpr double kDiagonal = 0.7071;

/// Direction from an anchor to its label: -1, 0 or 1, to the right and downwards.
struct Direction {
  int across;
  int down;
};
/// The usual ones first.
constexpr std::array<Direction, 8> kDirections = {
    {{1, 0}, {0, -1}, {1, -1}, {1, 1}, {0, 1}, {-1, 0}, {-1, -1}, {-1, 1}}};

double start_of(double anchor, double size, int side, double distance) {
  if (side == 0) return anchor - size / 2;
  return side > 0 ? anchor + distance : anchor - distance - size;
}

Box box_beside(Point anchor, const Label& label, Direction direction, double distance) {
  const double each =
      direction.across != 0 && direction.down != 0 ? kDiagonal * distance : distance;
  return {start_of(anchor.x, label.width, direction.across, each),
          start_of(anchor.y, label.height, direction.down, each), label.width, label.height};
}

Segment leader_to(const Box& box, Point anchor) {
  return {anchor,
          {std::clamp(anchor.x, box.x, box.right()), std::clamp(anchor.y, box.y, box.bottom())}};
}

struct Found {
  PlacedLabel place;
  double cost = std::numeric_limits<double>::infinity();
};

class Search {
 public:
  Search(const Box& area, Obstacles obstacles) : area_(area), obstacles_(std::move(obstacles)) {}

  std::optional<PlacedLabel> place(const Label& label) {
    best_ = {};
    double cost = 0;
    for (const Point& anchor : label.anchors) {
      if (label.centred)
        consider(
            {anchor.x - label.width / 2, anchor.y - label.height / 2, label.width, label.height},
            std::nullopt, 0, cost);
      for (const double distance : kDistances)
        for (std::size_t k = 0; k < kDirections.size(); ++k) {
          const Box box = box_beside(anchor, label, kDirections[k], distance);
          const bool tied = distance >= kLeaderFrom;
          consider(box, tied ? std::optional(leader_to(box, anchor)) : std::nullopt,
                   kDirections[k].across, cost + distance + kAside * static_cast<double>(k));
        }
      cost += kNextAnchor;
    }
    if (!std::isfinite(best_.cost)) return std::nullopt;  // or no anchor
    const Box& box = best_.place.box;
    const Point& first = label.anchors.front();
    best_.place.behind = best_.place.side > 0 && !best_.place.leader && box.x > first.x &&
                         box.y < first.y && first.y < box.bottom();
    labels_.push_back(best_.place.box);
    if (best_.place.leader) leaders_.push_back(*best_.place.leader);
    return best_.place;
  }

 private:
  void consider(const Box& box, const std::optional<Segment>& leader, int side, double cost) {
    if (cost >= best_.cost || !inside(box, area_)) return;
    for (const Box& other : obstacles_.boxes)
      if (overlap(box, other) || (leader && crosses(*leader, other) && !starts_in(*leader, other)))
        return;
    for (const Box& other : labels_)
      if (overlap(box, other) || (leader && crosses(*leader, other))) return;
    for (const Segment& other : leaders_)
      if (crosses(other, box)) return;
    for (const Segment& segment : obstacles_.segments) {
      if (crosses(segment, box)) cost += kLineHidden;
      if (cost >= best_.cost) return;
    }
    best_ = {{box, leader, side}, cost};
  }
  /// A leader may leave the marker it belongs to.
  static bool starts_in(const Segment& leader, const Box& box) {
    return crosses({leader.from, leader.from}, box);
  }

  Box area_;
  Obstacles obstacles_;
  std::vector<Box> labels_;
  std::vector<Segment> leaders_;
  Found best_;
};

}  // namespace

bool overlap(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

bool inside(const Box& inner, const Box& outer) {
  return inner.x >= outer.x && inner.right() <= outer.right() && inner.y >= outer.y &&
         inner.bottom() <= outer.bottom();
}

bool crosses(const Segment& segment, const Box& box) {
  // Liang and Barsky: cut the segment at each of the four edges.
  double from = 0;
  double to = 1;
  const auto cut = [&](double start, double along, double low, double high) {
    if (along == 0) return start >= low && start <= high;
    const double a = (low - start) / along;
    const double b = (high - start) / along;
    from = std::max(from, std::min(a, b));
    to = std::min(to, std::max(a, b));
    return from <= to;
  };
  return cut(segment.from.x, segment.to.x - segment.from.x, box.x, box.right()) &&
         cut(segment.from.y, segment.to.y - segment.from.y, box.y, box.bottom());
}

std::vector<std::optional<PlacedLabel>> place_labels(const std::vector<Label>& labels,
                                                     const Box& area, Obstacles obstacles) {
  Search search(area, std::move(obstacles));
  std::vector<std::optional<PlacedLabel>> placed;
  placed.reserve(labels.size());
  for (const Label& label : labels) placed.push_back(search.place(label));
  return placed;
}

}  // namespace ddpsim::plot
