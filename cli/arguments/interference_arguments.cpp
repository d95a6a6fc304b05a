#include "interference_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "key_values.hpp"

namespace ddpsim {
namespace {

double read_number(const std::string& key, const std::string& text, double low, double high) {
  const auto value = parse_number<double>(text);
  if (!value || !(*value >= low && *value <= high))
    throw UsageError(fmt::format("--interference: {}: \"{}\" is not a number from {} to {}", key,
                                 text, low, high));
  return *value;
}

}  // namespace

void add_interference_option(CLI::App& command, std::optional<std::string>& text) {
  const HelpGroup group(command, kClusterGroup);
  command.add_option(
      "--interference", text,
      "how compute and NCCL slow each other, any of \"sm:1 memory:1 nccl:0.8\": share "
      "of the SMs and of the memory traffic NCCL takes from compute, and the rate of "
      "NCCL beside compute (1 where it was recorded there)");
}

Interference read_interference(const std::string& text) {
  Interference interference;
  constexpr double kMost = 10;
  for (const auto& [key, value] : key_values("--interference", text, {"sm", "memory", "nccl"})) {
    if (key == "sm") interference.sm_share = read_number(key, value, 0, kMost);
    if (key == "memory") interference.memory_share = read_number(key, value, 0, kMost);
    if (key == "nccl") interference.communication_rate = read_number(key, value, 0.02, 1);
  }
  return interference;
}

}  // namespace ddpsim
