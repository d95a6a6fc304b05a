// Makes text of unknown origin safe to show: on a terminal, in a message, a report, a table or a
// plot.
//
// All functions here share one rule. Some characters are replaced by a sign: control characters
// (C0, DEL, C1), characters that change the direction of writing, line and paragraph separators,
// and invalid code points. Each byte that is not UTF-8 is replaced as well. A tab becomes a space.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddpsim {

/// `text` on one line: a newline becomes a space. `instead` replaces each character that is not
/// shown.
std::string printable(std::string_view text, std::string_view instead = "?");

/// Terminal styles that our own text uses.
inline constexpr std::string_view kBoldStyle = "\x1b[1m";
inline constexpr std::string_view kDimStyle = "\x1b[2m";
inline constexpr std::string_view kPlainStyle = "\x1b[0m";
enum class Styles { dropped, kept };

/// Several lines of our own text; newlines are kept. With `Styles::kept`, the three styles above
/// are kept too, and no other escape.
std::string printable_lines(std::string_view text, Styles styles = Styles::dropped);

/// Like `printable`, but shortens a text of more than `longest` bytes with an ellipsis.
std::string legible(std::string_view text, std::size_t longest = 60);

/// Like `legible`, in quotes: `"text"`.
std::string in_quotes(std::string_view text, std::size_t longest = 60);

}  // namespace ddpsim
