#include "names.hpp"

#include <algorithm>
#include <array>

#include "series_lines.hpp"

namespace ddpsim::plot {
namespace {

using Sample = LegendEntry::Sample;

constexpr double kSampleMarker = 3.2;
constexpr double kSampleLine = 20;
constexpr double kSampleRoom = 25;  // of line and marker in front of a series' name

struct Name {
  LegendEntry entry;
  std::string text;  ///< cut to what there is room for
  Font font;
  std::vector<Point> anchors;
  bool centred = false;
};

/// Beside a single value a marker would be taken for one more.
bool has_sample(const Name& name) {
  return name.entry.sample == Sample::series && name.entry.joined;
}

/// Along a line across: behind its right end, or anywhere on it.
std::vector<Point> anchors_across(const Frame& frame, double y) {
  constexpr std::array kShares = {1.0, 0.85, 0.7, 0.5, 0.3, 0.15, 0.0};
  std::vector<Point> anchors;
  for (const double share : kShares)
    anchors.push_back({frame.box.x + share * frame.box.width, frame.down(y)});
  return anchors;
}

/// Anywhere between the ends of a line across.
std::vector<Point> anchors_inside(const Frame& frame, double y) {
  std::vector<Point> anchors = anchors_across(frame, y);
  anchors.erase(anchors.begin());
  return anchors;
}

/// The end of a line, where its name is looked for; then points of it towards its beginning.
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

/// Names that look alike where they are cut go to the legend, which has room for all of them.
void require_apart(std::vector<Name>& names) {
  for (Name& one : names)
    for (Name& other : names)
      if (&one != &other && one.text == other.text && one.entry.name != other.entry.name) {
        one.anchors.clear();
        other.anchors.clear();
      }
}

/// In the order in which they choose a place: what matters most first. Scattered values, which have no end, have no
/// anchor: they are named in the legend.
std::vector<Name> names_of(const Frame& frame) {
  constexpr double kWidest = 330;
  constexpr double kWidestSeries = 187;
  const Chart& chart = *frame.chart;
  std::vector<Name> names;
  const auto add_name = [&](Sample sample, Look look, const std::string& text, Font font,
                            double width, std::vector<Point> anchors, bool centred, bool joined,
                            bool filled = true) {
    if (text.empty()) return;
    names.push_back({{sample, look, text, joined, filled},
                     fitted(xml_text(text), width, font),
                     font,
                     std::move(anchors),
                     centred});
  };
  for (const Spot& spot : chart.spots)
    if (frame.covers(spot.x, spot.y))
      add_name(Sample::spot, spot.look, spot.name, kSpotFont, kWidest, {frame.at(spot.x, spot.y)},
               false, false);
  if (!chart.rows)
    for (const Series& one : chart.series)
      add_name(Sample::series, one.look, one.name, kLabelFont, kWidestSeries,
               one.join == Join::none && one.values.size() > 1 ? std::vector<Point>()
                                                               : anchors_along(one, frame),
               false, one.join != Join::none, one.filled);
  for (const Stretch& one : chart.stretches) {
    if (!chart.x.scale.draws(one.low) || !chart.x.scale.draws(one.high)) continue;
    constexpr double kFromEdge = 12;
    const double x = (std::max(frame.box.x, frame.across(one.low)) +
                      std::min(frame.box.right(), frame.across(one.high))) /
                     2;
    add_name(Sample::stretch, {}, one.name, kAsideFont, kWidest,
             {{x, frame.box.y + kFromEdge}, {x, frame.box.bottom() - kFromEdge}}, true, false);
  }
  for (const Level& level : chart.levels)
    if (chart.y.scale.covers(level.y))
      add_name(Sample::level, {}, level.name, kAsideFont, kWidest, anchors_across(frame, level.y),
               false, false);
  for (const Layer& layer : chart.layers) {
    const double y = (layer.low + layer.high) / 2;
    if (chart.y.scale.covers(y))
      add_name(Sample::layer, {}, layer.name, kAsideFont, kWidest, anchors_inside(frame, y), true,
               false);
  }
  require_apart(names);
  return names;
}

void draw_name(pugi::xml_node parent, const Name& name, const PlacedLabel& place) {
  if (place.leader) add_line(parent, *place.leader, "leader", 0.75);
  Point at = {place.box.x, place.box.y + above_line(name.font)};
  const std::string_view css = name.font.size == kAsideFont.size ? "aside" : "";
  if (!has_sample(name)) {
    // Towards what it names, however much narrower the reader's font is.
    const Anchor anchor = place.side > 0   ? Anchor::start
                          : place.side < 0 ? Anchor::end
                                           : Anchor::middle;
    at.x += place.box.width * (place.side > 0 ? 0 : place.side < 0 ? 1 : 0.5);
    add_text(parent, at, name.text, name.font, anchor, css);
    return;
  }
  if (!place.behind) {  // behind the end of its line a name needs no sample
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
    case Sample::stretch:
      add_box(parent, box, "shade");
      return;
    case Sample::layer:
      add_box(parent, box, "layer");
      return;
  }
}

}  // namespace

std::vector<LegendEntry> draw_names(pugi::xml_node parent, const Frame& frame) {
  const std::vector<Name> names = names_of(frame);
  std::vector<Label> labels;
  for (const Name& name : names)
    labels.push_back({name.anchors,
                      text_width(name.text, name.font) + (has_sample(name) ? kSampleRoom : 0),
                      1.3 * name.font.size, name.centred});
  constexpr double kEdge = 6;  // of the page
  const Box area{frame.box.x + 2, frame.box.y + 2, kPageWidth - kEdge - frame.box.x - 2,
                 frame.box.height - 4};
  const auto places = place_labels(labels, area, obstacles_in(frame));
  const pugi::xml_node group = add(parent, "g");
  std::vector<LegendEntry> without_room;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (places[i])
      draw_name(group, names[i], *places[i]);
    else
      without_room.push_back(names[i].entry);
  }
  return without_room;
}

double draw_legend(pugi::xml_node parent, const std::vector<LegendEntry>& entries, double top) {
  constexpr double kLegendSample = 34;
  constexpr double kApart = 22;
  const double room = kPageWidth - 2 * kMargin - kLegendSample;
  const pugi::xml_node group = add(parent, "g");
  double x = kMargin;
  double y = top + line_height(kLabelFont);
  for (const LegendEntry& entry : entries) {
    const std::string name = fitted(xml_text(entry.name), room, kLabelFont);
    const double width = kLegendSample + text_width(name, kLabelFont);
    if (x > kMargin && x + width > kPageWidth - kMargin) {
      x = kMargin;
      y += line_height(kLabelFont);
    }
    draw_sample(group, entry, x, y - kLabelFont.size / 3);
    add_text(group, {x + kLegendSample, y}, name, kLabelFont);
    x += width + kApart;
  }
  return entries.empty() ? top : y + line_height(kLabelFont) / 2;
}

}  // namespace ddpsim::plot
