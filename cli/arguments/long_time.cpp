#include "long_time.hpp"

#include <array>
#include <utility>

#include "ddpsim/formats/number.hpp"

namespace ddpsim {

std::optional<double> parse_long_time(std::string_view text) {
  constexpr auto kUnits =
      std::to_array<std::pair<std::string_view, double>>({{"ms", 1e-3},
                                                          {"s", 1},
                                                          {"min", 60},
                                                          {"h", kSecondsOfHour},
                                                          {"d", 24 * kSecondsOfHour},
                                                          {"y", kSecondsOfYear}});
  const auto number = take_number<double>(text);
  if (!number) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (const auto& [unit, seconds] : kUnits)
    if (text == unit) return *number * seconds;
  return std::nullopt;
}

}  // namespace ddpsim
