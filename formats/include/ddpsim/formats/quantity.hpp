// Quantities written by people: a number and a unit. A number without its unit is an error that
// lists the choices.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// A value, or a sentence about what was expected.
template <typename T>
struct Parsed {
  std::optional<T> value;
  /// `"50GB" is a size; expected a rate such as "50GBps"`; empty if `value` is set.
  std::string problem;
};

/// "3.2us", "104ms", "1s", "500ns", "7ps"
Parsed<Duration> parse_duration(std::string_view text);
/// "25MiB", "1GB", "512B". K, M, G, T are decimal; Ki, Mi, Gi, Ti are binary.
Parsed<Bytes> parse_bytes(std::string_view text);
/// "100Gbps" (bits), "25GBps" (bytes), with decimal prefixes. "GB/s" and "Gbit/s" are accepted too.
Parsed<Bandwidth> parse_bandwidth(std::string_view text);

}  // namespace ddpsim
