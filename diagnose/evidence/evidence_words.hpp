// Helpers for reading lines that other programs wrote.
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

/// The text after `mark`. Absent if the line does not contain the mark.
inline std::optional<std::string_view> after_mark(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + mark.size());
}

/// The text before the first character of `ends`.
inline std::string_view up_to(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

/// The number at the start, whatever follows it ("16GT/s", "400.00 W"). Leading blanks are skipped.
template <typename Number>
std::optional<Number> leading_number(std::string_view text) {
  text = trimmed(text);
  return take_number<Number>(text);
}

/// Adds a word that is not there yet, in a legible form. A hostile text could have endless
/// different words, so only the first ones are kept.
template <typename Noted>
void note_once(std::vector<Noted>& all, std::string_view word, const std::string& place) {
  constexpr std::size_t kMostNoted = 64;
  std::string shown = legible(word, 200);
  const auto same = [&](const Noted& noted) { return noted.word == shown; };
  if (all.size() < kMostNoted && std::ranges::none_of(all, same))
    all.push_back({.word = std::move(shown), .place = place});
}

}  // namespace ddpsim
