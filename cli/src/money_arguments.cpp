#include "money_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <utility>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "help_group.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

constexpr const char* kAsListed = "list";
constexpr const char* kAsStated = "stated: --price";
constexpr double kDearest = 1e9;
constexpr double kLongestHours = 1e6;  // more than a century

struct Unit {
  std::string_view name;
  double times;
};

/// A number above 0 and one of the units behind it.
double quantity(const char* option, const std::string& text, std::span<const Unit> units,
                double most) {
  std::string_view rest = text;
  const auto number = take_number<double>(rest);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const Unit& unit : units) {
    if (rest != unit.name || !number) continue;
    const double value = *number * unit.times;
    if (value > 0 && value <= most) return value;
  }
  std::vector<std::string_view> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  throw UsageError(fmt::format("{} {}: expected a number above 0 and a unit ({}), such as 3{}",
                               option, text, fmt::join(names, ", "), names.front()));
}

double hours(const char* option, const std::string& text) {
  static constexpr std::array<Unit, 5> kUnits = {
      {{"h", 1}, {"min", 1.0 / 60}, {"s", 1.0 / 3600}, {"d", 24}, {"y", 24 * 365.25}}};
  return quantity(option, text, kUnits, kLongestHours);
}

/// "31.2/node_hour", "31.2USD/node_hour"
std::optional<Price> parse_price(std::string_view text) {
  const auto usd = take_number<double>(text);
  if (text.starts_with("USD")) text.remove_prefix(3);
  if (!usd || !(*usd >= 0 && *usd <= kDearest) || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  for (const Price::Per per : {Price::Per::node_hour, Price::Per::gpu_hour, Price::Per::node})
    if (text == name_of(per)) return Price{.usd = *usd, .per = per, .source = kAsStated};
  return std::nullopt;
}

/// Throws UsageError; `text` is what the message names.
Price price_of(const std::string& text, std::string_view price, const MoneyArguments& arguments) {
  const std::optional<Price> parsed = parse_price(price);
  if (!parsed)
    throw UsageError(fmt::format(
        "--price {}: expected LABEL=USD/node_hour, /gpu_hour or, bought, /node, such as "
        "dgxa100@4=31.2/node_hour; or list, for the prices that clusters' files have",
        text));
  if (parsed->per == Price::Per::node && !arguments.life)
    throw UsageError(
        fmt::format("--price {}: bought; --life says over how long, such as 4y", text));
  return *parsed;
}

struct NamedPrice {
  std::string name;
  Price price;
};

NamedPrice named_price(const std::string& text, const MoneyArguments& arguments) {
  const std::size_t equals = text.rfind('=');
  const std::string_view price =
      equals == text.npos ? std::string_view() : std::string_view(text).substr(equals + 1);
  return {text.substr(0, equals), price_of(text, price, arguments)};
}

}  // namespace

void add_money_options(CLI::App& command, MoneyArguments& arguments) {
  const HelpGroup money(command, kMoneyGroup);
  command
      .add_option("--price", arguments.prices,
                  "what a candidate costs, LABEL=USD/node_hour, /gpu_hour or, bought, /node; "
                  "repeatable. Others cost what their files list; list: all do")
      ->expected(1)
      ->take_all();
  command.add_option("--life", arguments.life,
                     "until what is bought is written off: 4y, 1500d, 35000h");
  command.add_option("--utilisation", arguments.utilisation,
                     "share of its life in which what is bought trains (default: 100%)");
  command.add_option("--node-power", arguments.node_power,
                     "what a bought node draws, cooling included: 6.5kW, 6500W");
  command.add_option("--energy-price", arguments.energy_price, "USD for a kWh");
  add_failure_options(command, arguments);
}

void add_failure_options(CLI::App& command, MoneyArguments& arguments) {
  const HelpGroup group(command, kFailuresGroup);
  command.add_option("--mtbf", arguments.mtbf,
                     "mean time between failures of one node: 2y, 5000h; training is then lost to "
                     "checkpoints and restarts");
  command.add_option("--restart", arguments.restart,
                     "from a failure until training goes on: 10min");
  command.add_option("--checkpoint", arguments.checkpoint,
                     "in which a checkpoint stops training: 30s");
}

Ownership ownership(const MoneyArguments& arguments) {
  static constexpr std::array<Unit, 1> kPercent = {{{"%", 0.01}}};
  static constexpr std::array<Unit, 2> kPower = {{{"kW", 1}, {"W", 0.001}}};
  Ownership owned;
  if (arguments.life) owned.life_hours = hours("--life", *arguments.life);
  if (arguments.utilisation)
    owned.utilisation = quantity("--utilisation", *arguments.utilisation, kPercent, 1);
  if (arguments.node_power)
    owned.node_kw = quantity("--node-power", *arguments.node_power, kPower, 1000);
  if (arguments.energy_price) {
    if (!(*arguments.energy_price >= 0 && *arguments.energy_price <= kDearest))
      throw UsageError("--energy-price: expected USD for a kWh, 0 or more, such as 0.12");
    owned.usd_per_kwh = *arguments.energy_price;
  }
  if (arguments.node_power.has_value() != arguments.energy_price.has_value())
    throw UsageError(
        "--node-power and --energy-price: one is nothing without the other; give both");
  return owned;
}

std::optional<Failures> failures(const MoneyArguments& arguments) {
  if (!arguments.mtbf) {
    if (arguments.restart || arguments.checkpoint)
      throw UsageError("--restart, --checkpoint: how often is something lost? Add --mtbf");
    return std::nullopt;
  }
  Failures found{.node_mtbf_hours = hours("--mtbf", *arguments.mtbf)};
  constexpr double kSeconds = 3600;
  if (found.node_mtbf_hours * kSeconds < 1)
    throw UsageError(fmt::format("--mtbf {}: expected 1s or more", *arguments.mtbf));
  if (arguments.restart) found.restart_seconds = kSeconds * hours("--restart", *arguments.restart);
  if (arguments.checkpoint)
    found.checkpoint_seconds = kSeconds * hours("--checkpoint", *arguments.checkpoint);
  return found;
}

void list_other_prices(MoneyArguments& arguments) {
  if (arguments.prices.empty()) arguments.prices.emplace_back(kAsListed);
}

std::vector<std::optional<Price>> prices(const MoneyArguments& arguments,
                                         const std::vector<Candidate>& candidates,
                                         const std::vector<const Cluster*>& clusters) {
  std::vector<std::optional<Price>> all(candidates.size());
  if (arguments.prices.empty()) return all;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (const auto& own = candidates[i].price)
      all[i] = price_of(fmt::format("{}={}", candidates[i].label, *own), *own, arguments);
  for (const std::string& text : arguments.prices) {
    if (text == kAsListed) continue;
    const NamedPrice named = named_price(text, arguments);
    bool anyones = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!candidates[i].is_called(named.name)) continue;
      if (all[i]) throw UsageError(fmt::format("--price: {} is given twice", candidates[i].label));
      all[i] = named.price;
      anyones = true;
    }
    if (anyones) continue;
    std::vector<std::string> labels;
    for (const Candidate& candidate : candidates) labels.push_back(candidate.label);
    throw UsageError(fmt::format("--price {}: no candidate is called {}, only {}", text,
                                 in_quotes(named.name), fmt::join(labels, ", ")));
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (all[i] || clusters[i] == nullptr) continue;
    for (const Price& listed : clusters[i]->prices)
      if (!all[i] && (listed.per != Price::Per::node || arguments.life)) all[i] = listed;
  }
  return all;
}

}  // namespace ddpsim
