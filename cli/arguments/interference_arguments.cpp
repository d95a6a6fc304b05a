#include "interference_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>

#include "ddpsim/formats/number.hpp"
#include "help_group.hpp"
#include "option_keys.hpp"

namespace ddpsim {
namespace {

OptionKey number_key(const std::string& name, std::function<void(double)> into, double low,
                     double high) {
  return {
      name, [into = std::move(into), low, high](const std::string& text) {
        const auto value = parse_number<double>(text);
        if (!value || !(*value >= low && *value <= high))
          throw WrongValue(fmt::format("\"{}\" is not a number from {} to {}", text, low, high));
        into(*value);
      }};
}

}  // namespace

void add_interference_option(CLI::App& command, std::optional<std::string>& text) {
  const HelpGroup group(command, kClusterGroup);
  command
      .add_option("--interference", text,
                  "Scale the SMs and memory traffic that NCCL takes from compute, and NCCL's own "
                  "rate meanwhile: \"sm:1 memory:1 nccl:0.8\"")
      ->type_name("\"KEY:VALUE …\"");
}

Interference read_interference(const std::string& text) {
  Interference interference;
  constexpr double kMost = 10;
  const auto put = [](auto& into) { return [&into](double value) { into = value; }; };
  take_keys("--interference", text,
            {number_key("sm", put(interference.sm_share), 0, kMost),
             number_key("memory", put(interference.memory_share), 0, kMost),
             number_key("nccl", put(interference.communication_rate), 0.02, 1)},
            KeyStyle::words);
  return interference;
}

}  // namespace ddpsim
