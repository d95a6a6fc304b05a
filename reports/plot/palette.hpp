// Colours, dashes and markers, in the order series take them. The colours are Okabe and Ito's (jfly.uni-koeln.de/color),
// which differ for every kind of colour vision. Dashes and markers differ without colour.
#pragma once

#include <string>
#include <string_view>

#include "chart.hpp"

namespace ddpsim::plot {

enum class Marker { circle, square, triangle, diamond, cross, wedge };

/// Number of colours. A chart that gives more than so many series a colour repeats one.
inline constexpr std::size_t kColours = 6;

/// CSS class of lines and areas in the colour of a look: "h0" and "f0", "hm" and "fm" if it is muted.
std::string line_class(Look look);
std::string area_class(Look look);
/// Value of stroke-dasharray; empty: a solid line.
std::string_view dash_of(Look look);
Marker marker_of(Look look);

/// The whole style sheet: light, but dark on a screen that is set to dark. Paper is always light.
std::string_view style_sheet();

}  // namespace ddpsim::plot
