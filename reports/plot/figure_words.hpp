// What figures say in words: below the frame, and to readers who cannot see them.
#pragma once

#include <string>

#include "chart.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"

namespace ddpsim {

/// The verdict of a text, which --quiet prints.
std::string first_line_of(const std::string& text);

/// "The whole curve may lie 4 % lower to 18 % higher (80 % interval): errors move all caps by nearly the same share."
std::string shared_error(const Confidence& confidence);

/// "Calibrated by published logs."
std::string as_note(std::string provenance);

/// The verdict, then "y (… to …) against x (… to …)", every name and what is marked.
std::string description_of(const plot::Chart& chart);
/// Describes several charts. A chart without a caption shows the values of the first chart on other axes, so only its
/// axes are described.
std::string description_of(const std::vector<plot::Chart>& charts);

}  // namespace ddpsim
