// Costs of clusters: --price with the options of bought nodes, and failures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "candidates.hpp"
#include "ddpsim/sim/compare/money.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

/// Values for all candidates, or LABEL=VALUE for one candidate, which takes precedence.
using OfCandidates = std::vector<std::string>;

struct MoneyArguments {
  std::vector<std::string> prices;
  OfCandidates life;
  OfCandidates utilisation;
  OfCandidates node_power;
  std::optional<double> energy_price;
  OfCandidates mtbf;
  OfCandidates restart;
  OfCandidates checkpoint;
};

void add_money_options(CLI::App& command, MoneyArguments& arguments);
/// Adds only --mtbf, --restart and --checkpoint, for a command with one candidate.
void add_failure_options(CLI::App& command, MoneyArguments& arguments);

/// Throws UsageError if a value is wrong, names no candidate, or is given twice for one candidate.
void require_sound_money(const MoneyArguments& arguments, const std::vector<Candidate>& candidates);

/// Returns the values of --life, --utilisation, --node-power and --energy-price for a candidate. Throws UsageError.
Ownership ownership(const MoneyArguments& arguments, const Candidate& candidate);

/// Returns the failures of a candidate, or nothing without --mtbf. `candidate` is null if there is only one, which has no label.
/// Throws UsageError.
std::optional<Failures> failures(const MoneyArguments& arguments, const Candidate* candidate);

/// Lets candidates without a price of their own cost what their cluster files list, as if --price were given. Studies need it.
void list_other_prices(MoneyArguments& arguments);

/// Returns the price of each candidate: its own, else that of --price, else the first one in its cluster file. A listed purchase price
/// counts only with --life. Without --price no candidate has a price. `clusters` has the cluster of each candidate; null if it
/// could not be read. Throws UsageError.
std::vector<std::optional<Price>> prices(const MoneyArguments& arguments,
                                         const std::vector<Candidate>& candidates,
                                         const std::vector<const Cluster*>& clusters);

}  // namespace ddpsim
