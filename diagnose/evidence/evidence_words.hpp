// Pieces of lines that somebody else wrote.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/diagnose/evidence/finding.hpp"
#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {

/// What stands behind `mark`; absent where the line has no such mark.
inline std::optional<std::string_view> after_mark(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + mark.size());
}

/// Up to the first of `ends`.
inline std::string_view up_to(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

/// The number in front, whatever stands behind it ("16GT/s", "400.00 W"); blanks in front are passed over.
template <typename Number>
std::optional<Number> leading_number(std::string_view text) {
  text = trimmed(text);
  return take_number<Number>(text);
}

/// Adds what is not there yet, as a person may read it. A hostile text has no end of different ones: the first count.
template <typename Noted>
void note_once(std::vector<Noted>& all, std::string_view word, const std::string& place) {
  constexpr std::size_t kMostNoted = 64;
  std::string shown = legible(word, 200);
  const auto same = [&](const Noted& noted) { return noted.word == shown; };
  if (all.size() < kMostNoted && std::ranges::none_of(all, same))
    all.push_back({.word = std::move(shown), .place = place});
}

}  // namespace ddpsim
