// What figures say in words, below and for those who do not see them.
#pragma once

#include <string>

#include "ddpsim/sim/confidence.hpp"
#include "plot/chart.hpp"

namespace ddpsim {

/// The verdict of a text, as --quiet prints it.
std::string first_line_of(const std::string& text);

/// "All steps together may lie 4 % lower to 18 % higher, four times in five: what is not known moves every cap alike."
std::string shared_error(const Confidence& confidence);

/// "Confidence C: specification only"; what one grade means.
std::string grade_and_source(const Confidence& confidence);

/// "y from … to …, against x from … to …", then every name and what is marked.
std::string description_of(const plot::Chart& chart);

}  // namespace ddpsim
