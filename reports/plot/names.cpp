#include "names.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "series_lines.hpp"

namespace ddpsim::plot {
namespace {

using Sample = LegendEntry::Sample;

constexpr double kSampleMarker = 3.2;
constexpr double kSampleLine = 20;
/// Width of line and marker in front of a series' name.
constexpr double kSampleRoom = 25;

struct Name {
  LegendEntry entry;
  std::string text;
  Font font;
  std::vector<Point> anchors;
  bool centred = false;
  /// Where its line ends at the right of the frame; the name stands there.
  std::optional<Point> end = {};
};

/// Beside a single value a sample would look like one more value.
bool has_sample(const Name& name) {
  return name.entry.sample == Sample::series && name.entry.joined;
}

/// Places along a line across: behind its right end first, then on it.
std::vector<Point> anchors_across(const Frame& frame, double y) {
  constexpr std::array kShares = {1.0, 0.85, 0.7, 0.5, 0.3, 0.15, 0.0};
  std::vector<Point> anchors;
  for (const double share : kShares)
    anchors.push_back({frame.box.x + share * frame.box.width, frame.down(y)});
  return anchors;
}

/// Places between the ends of a line across.
std::vector<Point> anchors_inside(const Frame& frame, double y) {
  std::vector<Point> anchors = anchors_across(frame, y);
  anchors.erase(anchors.begin());
  return anchors;
}

/// Places along a line: its end first, where readers look for its name, then back towards its beginning.
std::vector<Point> anchors_along(const Series& series, const Frame& frame) {
  constexpr std::size_t kMost = 10;
  std::vector<Point> shown;
  for (const Point& point : line_of(series, frame))
    if (point.y >= frame.box.y && point.y <= frame.box.bottom() && point.x >= frame.box.x - 1 &&
        point.x <= frame.box.right() + 1)
      shown.push_back(point);
  std::vector<Point> anchors;
  if (shown.empty()) return anchors;
  const std::size_t apart = shown.size() / kMost + 1;
  for (std::size_t back = 0; back < shown.size(); back += apart)
    anchors.push_back(shown[shown.size() - 1 - back]);
  return anchors;
}

/// In the order in which they choose a place: what matters most first. Scattered values have no end and therefore no
/// anchor: the legend names them.
std::vector<Name> names_of(const Frame& frame) {
  constexpr double kWidest = 330;
  constexpr double kWidestSeries = 187;
  const Chart& chart = *frame.chart;
  std::vector<Name> names;
  const auto add_name = [&](LegendEntry entry, Font font, double widest, std::vector<Point> anchors,
                            bool centred = false) {
    if (entry.name.empty()) return;
    std::string text = xml_text(entry.name);
    if (text_width(text, font) > widest) anchors.clear();
    names.push_back({std::move(entry), std::move(text), font, std::move(anchors), centred});
  };
  for (const Spot& spot : chart.spots)
    if (frame.covers(spot.x, spot.y))
      add_name({Sample::spot, spot.look, spot.name}, kSpotFont, kWidest,
               {frame.at(spot.x, spot.y)});
  if (!chart.rows)
    for (const Series& one : chart.series) {
      const bool scattered = one.join == Join::none && one.values.size() > 1;
      add_name({Sample::series, one.look, one.name, one.join != Join::none, one.filled}, kLabelFont,
               kWidestSeries, scattered ? std::vector<Point>() : anchors_along(one, frame));
      if (one.name.empty() || !ends_at_the_right(one, chart)) continue;
      Name& name = names.back();
      if (name.anchors.empty()) continue;
      if (text_width(name.text, kLabelFont) <= frame.widest_name) name.end = name.anchors.front();
      // Beside the line it would hide other lines.
      else
        name.anchors.clear();
    }
  for (const ShadedRange& one : chart.ranges) {
    if (!chart.x.scale.draws(one.low) || !chart.x.scale.draws(one.high)) continue;
    constexpr double kFromEdge = 12;
    const double x = (std::max(frame.box.x, frame.across(one.low)) +
                      std::min(frame.box.right(), frame.across(one.high))) /
                     2;
    add_name({Sample::range, {}, one.name}, kAsideFont, kWidest,
             {{x, frame.box.y + kFromEdge}, {x, frame.box.bottom() - kFromEdge}}, true);
  }
  for (const Level& level : chart.levels)
    if (chart.y.scale.covers(level.y))
      add_name({Sample::level, {}, level.name}, kAsideFont, kWidest,
               anchors_across(frame, level.y));
  for (const Layer& layer : chart.layers) {
    const double y = (layer.low + layer.high) / 2;
    if (chart.y.scale.covers(y))
      add_name({Sample::layer, {}, layer.name}, kAsideFont, kWidest, anchors_inside(frame, y),
               true);
  }
  return names;
}

constexpr double kEndNameHeight = 1.3 * kLabelFont.size;

/// Centres of names, as near to where they are wanted as they can be without touching each other, from `low` on down to
/// `high`. `wanted` ascends.
std::vector<double> spread_out(const std::vector<double>& wanted, double low, double high) {
  // Names that touch form a block, which stands where its names are wanted on average.
  struct Block {
    /// Sum of the places that each name would choose for the first centre.
    double sum = 0;
    std::size_t size = 0;
    double first() const { return sum / static_cast<double>(size); }
    double end() const { return first() + kEndNameHeight * static_cast<double>(size); }
  };
  std::vector<Block> blocks;
  for (const double centre : wanted) {
    Block block{centre, 1};
    while (!blocks.empty() && blocks.back().end() > block.first()) {
      const Block& above = blocks.back();
      const double shift = kEndNameHeight * static_cast<double>(above.size * block.size);
      block = {above.sum + block.sum - shift, above.size + block.size};
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  std::vector<double> centres;
  for (const Block& block : blocks)
    for (std::size_t i = 0; i < block.size; ++i)
      centres.push_back(block.first() + kEndNameHeight * static_cast<double>(i));
  double least = low;
  for (double& centre : centres) {
    centre = std::max(centre, least);
    least = centre + kEndNameHeight;
  }
  double most = high;
  for (auto centre = centres.rbegin(); centre != centres.rend(); ++centre) {
    *centre = std::min(*centre, most);
    most = *centre - kEndNameHeight;
  }
  return centres;
}

/// Writes names where lines end at the right, each tied to its line. Returns their boxes; names without room lose their
/// anchors, so that they go to the legend.
std::vector<Box> draw_end_names(pugi::xml_node parent, std::vector<Name>& names,
                                const Frame& frame) {
  std::vector<Name*> ended;
  for (Name& name : names)
    if (name.end) ended.push_back(&name);
  const auto room = static_cast<std::size_t>(frame.box.height / kEndNameHeight);
  for (std::size_t i = room; i < ended.size(); ++i) {
    ended[i]->end.reset();
    ended[i]->anchors.clear();
  }
  ended.resize(std::min(room, ended.size()));
  std::ranges::stable_sort(ended, {}, [](const Name* name) { return name->end->y; });
  std::vector<double> wanted;
  for (const Name* name : ended) wanted.push_back(name->end->y);
  const std::vector<double> centres = spread_out(wanted, frame.box.y, frame.box.bottom());
  const double left = frame.box.right() + names_from(*frame.chart);
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    const Name& name = *ended[i];
    const Look look = name.entry.look;
    add_line(parent, {{name.end->x + kMarkerRadius, name.end->y}, {left, centres[i]}},
             line_class(look), 0.75);
    add_marker(parent, {left + kSampleMarker, centres[i]}, look, kSampleMarker, name.entry.filled);
    add_text(parent, {left + kNameSample - 4, centres[i] + kLabelFont.size / 3}, name.text,
             kLabelFont);
    boxes.push_back({left, centres[i] - kEndNameHeight / 2,
                     kNameSample + text_width(name.text, name.font), kEndNameHeight});
  }
  return boxes;
}

void draw_name(pugi::xml_node parent, const Name& name, const PlacedLabel& place) {
  if (place.leader) add_line(parent, *place.leader, "leader", 0.75);
  Point at = {place.box.x, place.box.y + above_line(name.font)};
  const std::string_view css = name.font.size == kAsideFont.size ? "aside" : "halo";
  if (!has_sample(name)) {
    // Aligned with what it names, because the reader's font may be narrower.
    const Anchor anchor = place.side > 0   ? Anchor::start
                          : place.side < 0 ? Anchor::end
                                           : Anchor::middle;
    at.x += place.box.width * (place.side > 0 ? 0 : place.side < 0 ? 1 : 0.5);
    add_text(parent, at, name.text, name.font, anchor, css);
    return;
  }
  // A name behind the end of its line needs no sample.
  if (!place.behind) {
    const double y = place.box.y + place.box.height / 2;
    if (name.entry.joined)
      add_line(parent, {{at.x, y}, {at.x + kSampleLine, y}}, line_class(name.entry.look), 2,
               dash_of(name.entry.look));
    add_marker(parent, {at.x + kSampleLine / 2, y}, name.entry.look, kSampleMarker,
               name.entry.filled);
    at.x += kSampleRoom;
  }
  add_text(parent, at, name.text, name.font, Anchor::start, css);
}

void draw_sample(pugi::xml_node parent, const LegendEntry& entry, double x, double y) {
  constexpr double kWidth = 26;
  constexpr double kHeight = 9;
  const Box box{x, y - kHeight / 2, kWidth, kHeight};
  const Segment line{{x, y}, {x + kWidth, y}};
  switch (entry.sample) {
    case Sample::series:
      if (entry.joined) add_line(parent, line, line_class(entry.look), 2, dash_of(entry.look));
      add_marker(parent, {x + kWidth / 2, y}, entry.look, kSampleMarker, entry.filled);
      return;
    case Sample::spot:
      add_marker(parent, {x + kWidth / 2, y}, entry.look, kSpotRadius);
      return;
    case Sample::level:
      add_line(parent, line, "level", 1.2, "6 4");
      return;
    case Sample::range:
      add_box(parent, box, "shade");
      return;
    case Sample::layer:
      add_box(parent, box, "layer");
      return;
  }
}

}  // namespace

std::vector<LegendEntry> draw_names(pugi::xml_node parent, const Frame& frame) {
  std::vector<Name> names = names_of(frame);
  const pugi::xml_node group = add(parent, "g");
  Obstacles obstacles = obstacles_in(frame);
  for (const Box& box : draw_end_names(group, names, frame)) obstacles.boxes.push_back(box);
  std::vector<const Name*> placed;
  std::vector<Label> labels;
  for (const Name& name : names) {
    if (name.end) continue;
    placed.push_back(&name);
    labels.push_back({name.anchors,
                      text_width(name.text, name.font) + (has_sample(name) ? kSampleRoom : 0),
                      1.3 * name.font.size, name.centred});
  }
  const Box area{frame.box.x + 2, frame.box.y + 2, frame.right - frame.box.x - 2,
                 frame.box.height - 4};
  const auto places = place_labels(labels, area, std::move(obstacles));
  std::vector<LegendEntry> without_room;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (places[i])
      draw_name(group, *placed[i], *places[i]);
    else
      without_room.push_back(placed[i]->entry);
  }
  return without_room;
}

double draw_legend(pugi::xml_node parent, const std::vector<LegendEntry>& entries, double top) {
  constexpr double kLegendSample = 34;
  constexpr double kApart = 22;
  constexpr std::size_t kMostLines = 8;
  const double room = kPageWidth - 2 * kMargin - kLegendSample;
  const pugi::xml_node group = add(parent, "g");
  double x = kMargin;
  double y = top + line_height(kLabelFont);
  for (const LegendEntry& entry : entries) {
    const std::vector<std::string> lines =
        fitted_lines(xml_text(entry.name), room, kLabelFont, kMostLines);
    if (lines.empty()) continue;
    const double width = kLegendSample + text_width(lines.front(), kLabelFont);
    if (x > kMargin && x + width > kPageWidth - kMargin) {
      x = kMargin;
      y += line_height(kLabelFont);
    }
    draw_sample(group, entry, x, y - kLabelFont.size / 3);
    for (const std::string& line : lines) {
      if (&line != &lines.front()) y += line_height(kLabelFont);
      add_text(group, {x + kLegendSample, y}, line, kLabelFont);
    }
    x += width + kApart;
  }
  return entries.empty() ? top : y + line_height(kLabelFont) / 2;
}

}  // namespace ddpsim::plot
