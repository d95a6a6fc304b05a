// Bare numbers written by people, where no unit belongs.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ddpsim {

/// The number that all of `text` is: "12", "-0.5", "1e3", whatever the locale. Absent: something
/// else stands in it, or the number is out of range. A double may be infinite or NaN: compare it
/// with bounds.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace ddpsim
