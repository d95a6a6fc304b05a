// Text of unknown origin, made safe to be shown to a person: on a terminal, in a message, a report, a table or a figure.
//
// All functions here share one rule. These become a sign that stands for them: control characters (C0, DEL, C1), characters
// that turn the direction of writing, line and paragraph separators, values that are no characters, and each byte that is not
// UTF-8. A tab becomes a space.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddpsim {

/// `text` on one line: a newline becomes a space. `instead` is the sign for what is not shown.
std::string printable(std::string_view text, std::string_view instead = "?");

/// The styles our own text has on a terminal.
inline constexpr std::string_view kBoldStyle = "\x1b[1m";
inline constexpr std::string_view kDimStyle = "\x1b[2m";
inline constexpr std::string_view kPlainStyle = "\x1b[0m";
enum class Styles { dropped, kept };

/// Several lines of our own text: newlines stay. `Styles::kept`: so do these three styles, and no other escape.
std::string printable_lines(std::string_view text, Styles styles = Styles::dropped);

/// `printable`, and more than `longest` bytes end in an ellipsis.
std::string legible(std::string_view text, std::size_t longest = 60);

/// The same in quotes: `"text"`.
std::string in_quotes(std::string_view text, std::size_t longest = 60);

}  // namespace ddpsim
