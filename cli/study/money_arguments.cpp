#include "money_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"
#include "long_time.hpp"
#include "repeatable.hpp"

namespace ddpsim {
namespace {

constexpr const char* kAsListed = "list";
constexpr const char* kAsStated = "stated: --price";
constexpr double kDearest = 1e9;
constexpr double kLongestHours = 1e6;  // 114 years

struct Unit {
  std::string_view name;
  double times;
};

/// Parses a number above 0 followed by one of the units. Throws UsageError.
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
  throw UsageError(fmt::format("{} {}", option, text),
                   fmt::format("expected a number above 0 and a unit ({}), such as 3{}",
                               fmt::join(names, ", "), names.front()));
}

double hours(const char* option, const std::string& text) {
  const double hours = parse_long_time(text).value_or(0) / kSecondsOfHour;
  if (hours > 0 && hours <= kLongestHours) return hours;
  throw UsageError(
      fmt::format("{} {}", option, text),
      fmt::format("expected a time above 0 and its unit ({}), such as 3h", kLongTimeUnits));
}

/// Parses "31.2/node_hour" or "31.2USD/node_hour".
std::optional<Price> parse_price(std::string_view text) {
  const auto usd = take_number<double>(text);
  if (text.starts_with("USD")) text.remove_prefix(3);
  if (!usd || !(*usd >= 0 && *usd <= kDearest) || !text.starts_with('/')) return std::nullopt;
  text.remove_prefix(1);
  for (const Price::Per per : {Price::Per::node_hour, Price::Per::gpu_hour, Price::Per::node})
    if (text == name_of(per)) return Price{.usd = *usd, .per = per, .source = kAsStated};
  return std::nullopt;
}

struct NamedValue {
  std::string name;  ///< of a candidate; empty: all
  std::string value;
};

/// Parses "dgxa100@4=6.5kW". No value contains an equals sign.
NamedValue named_value(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos) return {.name = "", .value = text};
  return {.name = text.substr(0, equals), .value = text.substr(equals + 1)};
}

/// Returns the value of an option for a candidate. `candidate` is null if there is only one, which has no label.
std::optional<std::string> value_for(const OfCandidates& texts, const Candidate* candidate) {
  std::optional<std::string> of_all;
  for (const std::string& text : texts) {
    if (candidate == nullptr) return text;
    const NamedValue named = named_value(text);
    if (named.name.empty())
      of_all = named.value;
    else if (candidate->is_called(named.name))
      return named.value;
  }
  return of_all;
}

[[noreturn]] void fail_of_nobody(const char* option, const std::string& text,
                                 const std::string& name,
                                 const std::vector<Candidate>& candidates) {
  std::vector<std::string> labels;
  for (const Candidate& candidate : candidates) labels.push_back(candidate.label);
  throw UsageError(fmt::format("{} {}", option, text),
                   fmt::format("no candidate is called {}; the candidates are {}", in_quotes(name),
                               fmt::join(labels, ", ")));
}

[[noreturn]] void fail_twice(const char* option, const std::string& whose) {
  throw UsageError(option, fmt::format("{} is given twice", whose));
}

void require_of_candidates(const char* option, const OfCandidates& texts,
                           const std::vector<Candidate>& candidates) {
  std::vector<bool> has_own(candidates.size(), false);
  bool of_all = false;
  for (const std::string& text : texts) {
    if (text.starts_with('=') || text.ends_with('='))
      throw UsageError(fmt::format("{} {}", option, text),
                       "expected one value for all candidates, or LABEL=VALUE for one of them");
    const NamedValue named = named_value(text);
    if (named.name.empty()) {
      if (of_all)
        throw UsageError(
            option,
            fmt::format("a value for all candidates is given twice; LABEL={} sets it for one",
                        text));
      of_all = true;
      continue;
    }
    bool anyones = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!candidates[i].is_called(named.name)) continue;
      if (has_own[i]) fail_twice(option, candidates[i].label);
      has_own[i] = anyones = true;
    }
    if (!anyones) fail_of_nobody(option, text, named.name, candidates);
  }
}

/// Parses a price. Throws UsageError that names `text`.
Price price_of(const std::string& text, std::string_view price) {
  const std::optional<Price> parsed = parse_price(price);
  if (!parsed)
    throw UsageError(fmt::format("--price {}", text),
                     "expected LABEL=USD/node_hour, /gpu_hour or /node (bought), such as "
                     "dgxa100@4=31.2/node_hour, or list for the prices in cluster files");
  return *parsed;
}

void require_life(const std::string& text, const Price& price, const MoneyArguments& arguments,
                  const Candidate& candidate) {
  if (price.per == Price::Per::node && !value_for(arguments.life, &candidate))
    throw UsageError(fmt::format("--price {}", text),
                     "a bought node needs the time to write it off; add --life, such as --life 4y");
}

struct NamedPrice {
  std::string name;
  Price price;
};

NamedPrice named_price(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view price =
      equals == text.npos ? std::string_view() : std::string_view(text).substr(equals + 1);
  return {text.substr(0, equals), price_of(text, price)};
}

/// Adds the options of failures for one candidate or for several.
void add_failures(CLI::App& command, MoneyArguments& arguments, bool several) {
  const HelpGroup group(command, kFailuresGroup);
  const auto add = [&](const char* name, OfCandidates& values, std::string help) {
    if (several) help += "; repeatable";
    CLI::Option* option = command.add_option(name, values, help)
                              ->type_name(several ? "[LABEL=]TIME" : "TIME")
                              ->expected(1);
    if (several) repeatable(option);
  };
  add("--mtbf", arguments.mtbf,
      "Count training lost to failures, with this mean time between failures of one node, such as "
      "5000h or 2y");
  add("--restart", arguments.restart,
      "With --mtbf, set the time from a failure until training goes on, such as 10min");
  add("--checkpoint", arguments.checkpoint,
      "With --mtbf, set how long a checkpoint stops training, such as 30s");
}

}  // namespace

void add_money_options(CLI::App& command, MoneyArguments& arguments) {
  const HelpGroup money(command, kMoneyGroup);
  const auto add = [&](const char* name, std::vector<std::string>& values, const char* help,
                       const char* value) {
    return repeatable(command.add_option(name, values, help))->type_name(value);
  };
  common(add("--price", arguments.prices,
             "Count costs: LABEL=USD/node_hour, /gpu_hour or /node (bought), or list (cluster "
             "files); repeatable",
             "LABEL=USD/UNIT|list"));
  add("--life", arguments.life,
      "Write off bought nodes over this time, such as 4y, 1500d or 35000h; repeatable",
      "[LABEL=]TIME");
  add("--utilisation", arguments.utilisation,
      "Set the share of its life in which a bought node trains, such as 70% (default: 100%); "
      "repeatable",
      "[LABEL=]PERCENT");
  add("--node-power", arguments.node_power,
      "Set what a bought node draws, cooling included, such as 6.5kW or 6500W; repeatable",
      "[LABEL=]POWER");
  command.add_option("--energy-price", arguments.energy_price, "Set the price of a kWh in USD");
  add_failures(command, arguments, true);
}

void add_failure_options(CLI::App& command, MoneyArguments& arguments) {
  add_failures(command, arguments, false);
}

Ownership ownership(const MoneyArguments& arguments, const Candidate& candidate) {
  static constexpr std::array<Unit, 1> kPercent = {{{"%", 0.01}}};
  static constexpr std::array<Unit, 2> kPower = {{{"kW", 1}, {"W", 0.001}}};
  Ownership owned;
  if (const auto life = value_for(arguments.life, &candidate))
    owned.life_hours = hours("--life", *life);
  if (const auto utilisation = value_for(arguments.utilisation, &candidate))
    owned.utilisation = quantity("--utilisation", *utilisation, kPercent, 1);
  if (const auto power = value_for(arguments.node_power, &candidate))
    owned.node_kw = quantity("--node-power", *power, kPower, 1000);
  owned.usd_per_kwh = arguments.energy_price.value_or(0);
  return owned;
}

std::optional<Failures> failures(const MoneyArguments& arguments, const Candidate* candidate) {
  if (arguments.mtbf.empty() && !(arguments.restart.empty() && arguments.checkpoint.empty()))
    throw UsageError("--restart, --checkpoint", "these options need the failure rate; add --mtbf");
  const auto mtbf = value_for(arguments.mtbf, candidate);
  if (!mtbf) return std::nullopt;
  Failures found{.node_mtbf_hours = hours("--mtbf", *mtbf)};
  if (found.node_mtbf_hours * kSecondsOfHour < 1)
    throw UsageError(fmt::format("--mtbf {}", *mtbf), "expected 1s or more");
  if (const auto restart = value_for(arguments.restart, candidate))
    found.restart_seconds = kSecondsOfHour * hours("--restart", *restart);
  if (const auto checkpoint = value_for(arguments.checkpoint, candidate))
    found.checkpoint_seconds = kSecondsOfHour * hours("--checkpoint", *checkpoint);
  return found;
}

void require_sound_money(const MoneyArguments& arguments,
                         const std::vector<Candidate>& candidates) {
  for (const auto& [option, texts] :
       {std::pair("--life", &arguments.life), std::pair("--utilisation", &arguments.utilisation),
        std::pair("--node-power", &arguments.node_power), std::pair("--mtbf", &arguments.mtbf),
        std::pair("--restart", &arguments.restart),
        std::pair("--checkpoint", &arguments.checkpoint)})
    require_of_candidates(option, *texts, candidates);
  if (const auto& usd = arguments.energy_price; usd && !(*usd >= 0 && *usd <= kDearest))
    throw UsageError("--energy-price",
                     "expected the price of a kWh in USD, 0 or more, such as 0.12");
  if (arguments.node_power.empty() == arguments.energy_price.has_value())
    throw UsageError("--node-power and --energy-price", "these options need each other",
                     "Give both");
  for (const Candidate& candidate : candidates) {
    ownership(arguments, candidate);
    failures(arguments, &candidate);
  }
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
    if (const auto& own = candidates[i].price) {
      const std::string text = fmt::format("{}={}", candidates[i].label, *own);
      all[i] = price_of(text, *own);
      require_life(text, *all[i], arguments, candidates[i]);
    }
  for (const std::string& text : arguments.prices) {
    if (text == kAsListed) continue;
    const NamedPrice named = named_price(text);
    bool anyones = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!candidates[i].is_called(named.name)) continue;
      if (all[i]) fail_twice("--price", candidates[i].label);
      require_life(text, named.price, arguments, candidates[i]);
      all[i] = named.price;
      anyones = true;
    }
    if (!anyones) fail_of_nobody("--price", text, named.name, candidates);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (all[i] || clusters[i] == nullptr) continue;
    for (const Price& listed : clusters[i]->prices)
      if (!all[i] && (listed.per != Price::Per::node || value_for(arguments.life, &candidates[i])))
        all[i] = listed;
  }
  return all;
}

}  // namespace ddpsim
