// Long times, such as those of training runs, from milliseconds to years: "30s", "20min", "5000h", "30d", "1y".
#pragma once

#include <optional>
#include <string_view>

namespace ddpsim {

inline constexpr double kSecondsOfHour = 3600;
inline constexpr double kSecondsOfYear = 365.25 * 24 * kSecondsOfHour;
inline constexpr std::string_view kLongTimeUnits = "ms, s, min, h, d, y";

/// Returns seconds; nothing unless the text is a number followed by one of these units.
std::optional<double> parse_long_time(std::string_view text);

}  // namespace ddpsim
