// Elements of SVG, written through pugixml, which escapes foreign names.
#pragma once

#include <initializer_list>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "label_placement.hpp"
#include "palette.hpp"
#include "text_extent.hpp"

namespace ddpsim::plot {

/// Pixels to a hundredth: "12.5", "0", never "-0".
std::string pixels(double value);

/// `printable`, with U+FFFD for characters that XML 1.0 does not allow or that cannot be shown.
std::string xml_text(std::string_view text);

struct Attribute {
  const char* name;
  std::string value;
};
pugi::xml_node add(pugi::xml_node parent, const char* name,
                   std::initializer_list<Attribute> attributes = {});
/// Adds <title> or <desc>: a tooltip, or text that is read aloud.
void add_told(pugi::xml_node parent, const char* name, std::string_view text);

enum class Anchor { start, middle, end };
/// `at`: a point on the baseline.
void add_text(pugi::xml_node parent, Point at, std::string_view text, Font font,
              Anchor anchor = Anchor::start, std::string_view css_class = "");
void add_line(pugi::xml_node parent, const Segment& segment, const std::string& css_class,
              double width, std::string_view dash = "");
void add_box(pugi::xml_node parent, const Box& box, const std::string& css_class);
/// "M 1 2 L 3 4 …"; closed as an area.
std::string path_data(const std::vector<Point>& points, bool closed = false);

/// Filled, or an outline filled with the colour of the paper.
pugi::xml_node add_marker(pugi::xml_node parent, Point at, Look look, double radius,
                          bool filled = true);

}  // namespace ddpsim::plot
