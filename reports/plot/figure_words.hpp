// What figures say in words, below and for those who do not see them.
#pragma once

#include <string>

#include "chart.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"

namespace ddpsim {

/// The verdict of a text, as --quiet prints it.
std::string first_line_of(const std::string& text);

/// "All steps together may lie 4 % lower to 18 % higher (80 % interval): what is not known moves every cap alike."
std::string shared_error(const Confidence& confidence);

/// "Calibrated by published logs."
std::string as_note(std::string provenance);

/// "y from … to …, against x from … to …", then every name and what is marked.
std::string description_of(const plot::Chart& chart);

}  // namespace ddpsim
