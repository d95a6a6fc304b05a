// Quantities written by people: a number and a unit. A bare number where a unit belongs is an error
// that names the choices.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Either a value or the sentence that says what was expected.
template <typename T>
struct Parsed {
  std::optional<T> value;
  std::string
      problem;  ///< empty when value is set: `"50GB" is a size; expected a rate such as "50GBps"`
};

/// "3.2us", "104ms", "1s", "500ns", "7ps"
Parsed<Duration> parse_duration(std::string_view text);
/// "25MiB", "1GB", "512B"; K, M, G, T decimal, Ki, Mi, Gi, Ti binary
Parsed<Bytes> parse_bytes(std::string_view text);
/// "100Gbps" (bits), "25GBps" (bytes); decimal prefixes; "GB/s" and "Gbit/s" are read too
Parsed<Bandwidth> parse_bandwidth(std::string_view text);

}  // namespace ddpsim
