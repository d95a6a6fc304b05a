// For options in percent: "5%" and "5 %" mean 5.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace ddpsim {

inline CLI::Validator without_percent_sign() {
  const auto strip = [](std::string& text) {
    if (text.ends_with('%')) {
      text.pop_back();
      if (text.ends_with(' ')) text.pop_back();
    }
    return std::string();
  };
  return {strip, "", "percent"};
}

}  // namespace ddpsim
