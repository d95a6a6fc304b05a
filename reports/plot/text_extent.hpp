// How much room a text takes, without knowing the font it will be shown in: never less than it will need.
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

/// Pixels, by the widths of DejaVu Sans, the widest sans-serif in common use.
double text_width(std::string_view text, Font font);

/// Cut in the middle with "…", since names differ at either end.
std::string fitted(std::string_view text, double width, Font font);

/// Broken between words, words that are longer than a line within; the last of `most` lines is cut.
std::vector<std::string> fitted_lines(std::string_view text, double width, Font font,
                                      std::size_t most);

}  // namespace ddpsim::plot
