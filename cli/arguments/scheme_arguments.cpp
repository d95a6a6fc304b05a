#include "scheme_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/formats/words.hpp"
#include "help_group.hpp"
#include "option_keys.hpp"
#include "repeatable.hpp"

namespace ddpsim {
namespace {

constexpr const char* kType = "NAME[:OPTIONS]";

std::string help() {
  std::vector<std::string> names;
  for (const Scheme& scheme : known_schemes()) names.emplace_back(name_of(scheme));
  names.front() += " (default)";
  return fmt::format("Train with {}; see schemes.md", fmt::join(names, ", "));
}

[[noreturn]] void fail(std::string_view message) {
  throw UsageError("--scheme", std::string(message));
}

using Words = SchemeOption::Words;
using Whole = SchemeOption::Whole;
using Real = SchemeOption::Real;
using Paths = SchemeOption::Paths;
using Levels = SchemeOption::Levels;
using Release = SchemeOption::Release;

std::int64_t whole_number(const std::string& value, std::int64_t least, std::int64_t most) {
  const auto exact = parse_number<double>(value);
  const bool whole = exact && *exact >= static_cast<double>(least) &&
                     *exact <= static_cast<double>(most) && *exact == std::trunc(*exact);
  if (!whole)
    throw WrongValue(fmt::format("expected a whole number from {} to {:g}, not {}", least,
                                 static_cast<double>(most), in_quotes(value)));
  return static_cast<std::int64_t>(*exact);
}

void take(const Whole& option, const std::string& value) {
  option.set(whole_number(value, option.least, option.most));
}

void take(const Real& option, const std::string& value) {
  const auto exact = parse_number<double>(value);
  if (!exact || !(*exact >= option.least) || *exact > option.most)
    throw WrongValue(fmt::format("expected {} from {:g} to {:g}, not {}", option.unit, option.least,
                                 option.most, in_quotes(value)));
  option.set(*exact);
}

void take(const Paths& option, const std::string& value) {
  std::vector<std::string> paths;
  for (const std::string_view path : split(value, '+')) {
    if (path.empty())
      throw WrongValue(
          "expected blocks, none, leaves, size, or module paths such as layers.*+head");
    paths.emplace_back(path);
  }
  option.set(std::move(paths));
}

/// Takes "2:4+4:8+8:16": average over 4 ranks every 2 steps, over 8 every 4 steps, over 16 every 8 steps.
void take(const Levels& option, const std::string& value) {
  std::vector<AveragingLevel> levels;
  for (const std::string_view item : split(value, '+')) {
    const std::string level(item);
    const std::size_t colon = level.find(':');
    if (colon == level.npos)
      throw WrongValue(
          fmt::format("expected PERIOD:RANKS, several joined by '+' as in 4:8+16:16, not {}",
                      in_quotes(value)));
    const std::int64_t period = whole_number(level.substr(0, colon), 1, kMostRanksOrSteps);
    const std::int64_t ranks = whole_number(level.substr(colon + 1), 1, kMostRanksOrSteps);
    levels.push_back({.period = static_cast<int>(period), .ranks = static_cast<int>(ranks)});
  }
  option.set(std::move(levels));
}

void take(const Release& option, const std::string& value) {
  const auto version = parse_deepspeed_version(value);
  if (!version || *version < kOldestDeepSpeed)
    throw WrongValue(fmt::format("expected a release of DeepSpeed from {} on, not {}",
                                 to_string(kOldestDeepSpeed), in_quotes(value)));
  option.set(*version);
}

void take(const SchemeOption& option, const std::string& value) {
  const Words& known = option.words;
  const auto word = std::ranges::find(known.words, value);
  if (word != known.words.end())
    return known.set(static_cast<std::size_t>(word - known.words.begin()));
  if (!known.refused.empty() && value == known.refused)
    throw WrongValue(std::string(known.because));
  std::visit(
      [&](const auto& takes) {
        if constexpr (std::is_same_v<std::decay_t<decltype(takes)>, std::monostate>)
          throw WrongValue(
              not_one_of(value, std::vector<std::string>(known.words.begin(), known.words.end())));
        else
          take(takes, value);
      },
      option.value);
}

std::vector<OptionKey> keys_of(Scheme& scheme) {
  std::vector<OptionKey> keys;
  for (SchemeOption& option : options_to_set(scheme))
    keys.push_back(
        {std::string(option.name), [option](const std::string& value) { take(option, value); }});
  return keys;
}

/// Returns the scheme with the defaults of its library.
Scheme named(const std::string& name) {
  std::vector<std::pair<std::string, Scheme>> known;
  for (Scheme& scheme : known_schemes()) known.emplace_back(name_of(scheme), std::move(scheme));
  try {
    return one_of(name, known);
  } catch (const WrongValue& problem) {
    throw UsageError("--scheme", "name: " + problem.complaint().message, problem.complaint().hint);
  }
}

}  // namespace

void add_scheme_option(CLI::App& command, std::optional<std::string>& scheme) {
  const HelpGroup group(command, kDdpGroup);
  common(command.add_option("--scheme", scheme, help()))->type_name(kType);
}

void add_schemes_option(CLI::App& command, std::vector<std::string>& schemes) {
  const HelpGroup group(command, kDdpGroup);
  repeatable(common(command.add_option("--scheme", schemes, help() + "; repeatable")))
      ->type_name(kType);
}

Scheme parse_scheme(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  Scheme scheme = named(name);
  if (colon == text.npos) return scheme;
  const std::vector<OptionKey> keys = keys_of(scheme);
  if (keys.empty())
    fail(fmt::format("{} takes no options here; DDP's options are options of the command", name));
  const std::vector<std::string> given =
      take_keys("--scheme", std::string_view(text).substr(colon + 1), keys, KeyStyle::commas, name);
  const auto is_given = [&](const char* key) {
    return std::ranges::find(given, key) != given.end();
  };
  if (is_given("hierarchy") && is_given("period"))
    throw UsageError("--scheme", "local_sgd: hierarchy states periods itself", "Leave out period");
  const CpuOffload* offload = offload_of(scheme);
  const Zero* zero = std::get_if<Zero>(&scheme);
  const char* steps_there = zero != nullptr ? "offload_optimizer=cpu" : "cpu_offload=true";
  if (is_given("pcie") && offload == nullptr)
    fail(fmt::format("pcie: nothing is kept on the host without {}{}", steps_there,
                     zero != nullptr && zero->stage == 3 ? " or offload_param=cpu" : ""));
  for (const char* key : {"cpu_rate", "fused"})
    if (is_given(key) && (offload == nullptr || !offload->optimizer))
      fail(fmt::format("{}: the optimizer does not run on the host without {}", key, steps_there));
  return scheme;
}

}  // namespace ddpsim
