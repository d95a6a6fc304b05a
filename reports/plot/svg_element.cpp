#include "svg_element.hpp"

#include <fmt/format.h>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim::plot {
namespace {

const char* name_of(Anchor anchor) {
  return anchor == Anchor::middle ? "middle" : "end";
}

/// Corners of a marker of radius 1 around its centre; empty: a circle.
std::vector<Point> corners_of(Marker marker) {
  switch (marker) {
    case Marker::circle:
      return {};
    case Marker::square:
      return {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}};
    case Marker::triangle:
      return {{0, -1.15}, {1.1, 0.85}, {-1.1, 0.85}};
    case Marker::diamond:
      return {{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}};
    case Marker::cross:
      return {{-1.2, -0.4}, {-0.4, -0.4}, {-0.4, -1.2}, {0.4, -1.2}, {0.4, -0.4}, {1.2, -0.4},
              {1.2, 0.4},   {0.4, 0.4},   {0.4, 1.2},   {-0.4, 1.2}, {-0.4, 0.4}, {-1.2, 0.4}};
    case Marker::wedge:
      return {{0, 1.15}, {1.1, -0.85}, {-1.1, -0.85}};
  }
  return {};
}

}  // namespace

std::string pixels(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string xml_text(std::string_view text) {
  return printable(text, "\uFFFD");
}

pugi::xml_node add(pugi::xml_node parent, const char* name,
                   std::initializer_list<Attribute> attributes) {
  pugi::xml_node node = parent.append_child(name);
  for (const Attribute& one : attributes)
    if (!one.value.empty()) node.append_attribute(one.name).set_value(one.value.c_str());
  return node;
}

void add_told(pugi::xml_node parent, const char* name, std::string_view text) {
  if (!text.empty()) parent.append_child(name).text().set(xml_text(text).c_str());
}

void add_text(pugi::xml_node parent, Point at, std::string_view text, Font font, Anchor anchor,
              std::string_view css_class) {
  add(parent, "text",
      {{"class", std::string(css_class)},
       {"x", pixels(at.x)},
       {"y", pixels(at.y)},
       {"font-size", pixels(font.size)},
       {"font-weight", font.bold ? "600" : ""},
       {"text-anchor", anchor == Anchor::start ? "" : name_of(anchor)}})
      .text()
      .set(xml_text(text).c_str());
}

void add_line(pugi::xml_node parent, const Segment& segment, const std::string& css_class,
              double width, std::string_view dash) {
  add(parent, "line",
      {{"class", css_class},
       {"x1", pixels(segment.from.x)},
       {"y1", pixels(segment.from.y)},
       {"x2", pixels(segment.to.x)},
       {"y2", pixels(segment.to.y)},
       {"stroke-width", pixels(width)},
       {"stroke-dasharray", std::string(dash)}});
}

void add_box(pugi::xml_node parent, const Box& box, const std::string& css_class) {
  add(parent, "rect",
      {{"class", css_class},
       {"x", pixels(box.x)},
       {"y", pixels(box.y)},
       {"width", pixels(box.width)},
       {"height", pixels(box.height)}});
}

std::string path_data(const std::vector<Point>& points, bool closed) {
  std::string data;
  for (const Point& point : points)
    data += fmt::format("{}{} {}", data.empty() ? "M" : "L", pixels(point.x), pixels(point.y));
  return closed ? data + 'Z' : data;
}

pugi::xml_node add_marker(pugi::xml_node parent, Point at, Look look, double radius, bool filled) {
  constexpr const char* kOutline = "1.6";
  const std::string css = line_class(look) + (filled ? ' ' + area_class(look) : " paper");
  std::vector<Point> corners = corners_of(marker_of(look));
  if (corners.empty())
    return add(parent, "circle",
               {{"class", css},
                {"cx", pixels(at.x)},
                {"cy", pixels(at.y)},
                {"r", pixels(radius)},
                {"stroke-width", filled ? "0" : kOutline}});
  for (Point& corner : corners) corner = {at.x + radius * corner.x, at.y + radius * corner.y};
  return add(
      parent, "path",
      {{"class", css}, {"d", path_data(corners, true)}, {"stroke-width", filled ? "0" : kOutline}});
}

}  // namespace ddpsim::plot
