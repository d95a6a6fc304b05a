// Numbers without a unit, written by people and programs. The locale does not matter.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace ddpsim {

/// Takes a number from the front of `text`: "12", "-0.5", "1e3". Nothing may precede it, not even a
/// '+'. Returns absent and takes nothing if there is no number; returns absent and takes the number
/// if it is out of range. A double may be infinite or NaN, so compare it with bounds.
template <typename Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// The number that makes up all of `text`.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  const std::optional<Number> value = take_number<Number>(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace ddpsim
