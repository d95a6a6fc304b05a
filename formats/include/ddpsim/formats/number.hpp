// Bare numbers written by people and programs, where no unit belongs; whatever the locale.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace ddpsim {

/// Takes the number that stands at the front of `text`: "12", "-0.5", "1e3"; nothing may stand before
/// it, no '+' either. Absent: there is none, and nothing was taken; or it is out of range, and was. A
/// double may be infinite or NaN: compare it with bounds.
template <typename Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// The number that all of `text` is.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  const std::optional<Number> value = take_number<Number>(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace ddpsim
