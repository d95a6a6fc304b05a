// Reads numbers from the words of a line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {

inline std::optional<std::int64_t> integer_at(const Words& words, std::size_t index) {
  if (index >= words.size()) return std::nullopt;
  return parse_number<std::int64_t>(words[index]);
}

/// Index at which the words of `sought` appear one after another.
inline std::optional<std::size_t> find_words(const Words& words,
                                             std::initializer_list<std::string_view> sought) {
  const auto at = std::search(words.begin(), words.end(), sought.begin(), sought.end());
  if (at == words.end()) return std::nullopt;
  return static_cast<std::size_t>(at - words.begin());
}

/// A number as printed. The exact value lies within half a unit of its last digit.
struct Figure {
  double value = 0;
  double half_unit = 0;
};

/// Reads a number. Also accepts "nan" and "inf", as printf writes them, so the caller must check
/// the value.
inline std::optional<Figure> figure_of(std::string_view word) {
  const auto value = parse_number<double>(word);
  if (!value) return std::nullopt;
  const std::size_t e = word.find_first_of("eE");
  const std::string_view mantissa = word.substr(0, e);
  const std::size_t point = mantissa.find('.');
  const std::size_t decimals = point == std::string_view::npos ? 0 : mantissa.size() - point - 1;
  double exponent = -static_cast<double>(decimals);
  if (e != std::string_view::npos) {
    std::string_view power = word.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    exponent += static_cast<double>(parse_number<std::int64_t>(power).value_or(0));
  }
  return Figure{*value, 0.5 * elementary::pow(10.0, exponent)};
}

}  // namespace ddpsim
