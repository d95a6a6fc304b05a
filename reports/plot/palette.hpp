// Colours, dashes and markers, in the order series take them: Okabe and Ito's palette (jfly.uni-koeln.de/color), told
// apart with any colour vision; dash and marker tell them apart without colour.
#pragma once

#include <string>
#include <string_view>

#include "chart.hpp"

namespace ddpsim::plot {

enum class Marker { circle, square, triangle, diamond, cross, wedge };

/// Class of what is drawn in the look's colour: "h0" as a line, "f0" as an area.
std::string line_class(Look look);
std::string area_class(Look look);
/// As stroke-dasharray has it; empty: a solid line.
std::string_view dash_of(Look look);
Marker marker_of(Look look);

/// The whole style sheet: light, dark where the reader's screen is, never on paper.
std::string_view style_sheet();

}  // namespace ddpsim::plot
