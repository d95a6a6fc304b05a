// Room that a text takes in an unknown font. The estimate is never too small.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim::plot {

struct Font {
  double size;  ///< pixels
  bool bold = false;
};

/// Width in pixels in DejaVu Sans, the widest common sans-serif font.
double text_width(std::string_view text, Font font);

/// Cuts a long text in the middle with "…", because names differ at their ends.
std::string fitted(std::string_view text, double width, Font font);

/// Breaks a text between words, and words that are longer than a line inside. The last of `most` lines is cut.
std::vector<std::string> fitted_lines(std::string_view text, double width, Font font,
                                      std::size_t most);

}  // namespace ddpsim::plot
