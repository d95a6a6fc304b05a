#include "interference_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <sstream>

#include "usage_error.hpp"

namespace ddpsim {
namespace {

double read_number(const std::string& key, const std::string& text, double low, double high) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
    throw UsageError(fmt::format("--interference: {}: \"{}\" is not a number from {} to {}", key,
                                 text, low, high));
  return value;
}

}  // namespace

void add_interference_option(CLI::App& command, std::optional<std::string>& text) {
  command.add_option(
      "--interference", text,
      "how compute and NCCL slow each other, any of \"sm:1 memory:1 nccl:1\": share "
      "of the SMs and of the memory traffic NCCL takes from compute, and the rate of "
      "NCCL beside compute");
}

Interference read_interference(const std::optional<std::string>& text) {
  Interference interference;
  if (!text) return interference;
  constexpr double kMost = 10;
  std::istringstream words(*text);
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    const std::string key = word.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : word.substr(colon + 1);
    if (key == "sm") {
      interference.sm_share = read_number(key, value, 0, kMost);
    } else if (key == "memory") {
      interference.memory_share = read_number(key, value, 0, kMost);
    } else if (key == "nccl") {
      interference.communication_rate = read_number(key, value, 0.02, 1);
    } else {
      throw UsageError(fmt::format("--interference: \"{}\" is not one of sm, memory, nccl", key));
    }
  }
  return interference;
}

}  // namespace ddpsim
