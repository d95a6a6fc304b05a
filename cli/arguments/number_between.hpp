// A range check for options that take a real number. CLI11's own accepts NaN.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "ddpsim/formats/number.hpp"

namespace ddpsim {

inline CLI::Validator number_between(double low, double high) {
  const auto problem = [low, high](const std::string& text) {
    const auto value = parse_number<double>(text);
    if (value && *value >= low && *value <= high) return std::string();
    return fmt::format("\"{}\" is not a number from {} to {}", text, low, high);
  };
  return {problem, fmt::format("from {} to {}", low, high)};
}

}  // namespace ddpsim
