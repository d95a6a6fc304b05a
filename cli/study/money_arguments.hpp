// What clusters cost: --price and what a price needs beside it, failures, and how much is to be trained.
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

/// Values that hold for all candidates, or LABEL=VALUE for one, which goes before.
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
/// Of them --mtbf, --restart and --checkpoint alone, of a command with one candidate.
void add_failure_options(CLI::App& command, MoneyArguments& arguments);

/// Throws UsageError where an option says something wrong, of nobody, or of one candidate twice.
void require_sound_money(const MoneyArguments& arguments, const std::vector<Candidate>& candidates);

/// What --life, --utilisation, --node-power and --energy-price say of a candidate; no life where none was given. Throws UsageError.
Ownership ownership(const MoneyArguments& arguments, const Candidate& candidate);

/// Absent without --mtbf. `candidate`: null where there is one, of no label. Throws UsageError.
std::optional<Failures> failures(const MoneyArguments& arguments, const Candidate* candidate);

/// For studies that give some candidates a price: the others cost what their files list, as with any --price.
void list_other_prices(MoneyArguments& arguments);

/// Of each candidate, on its cluster (null: it could not be read): its own price, or that of --price, else the first its
/// cluster's file lists; absent where neither is, or where what is listed is a price of purchase and nobody says over how
/// long. Without --price nothing has one. Throws UsageError.
std::vector<std::optional<Price>> prices(const MoneyArguments& arguments,
                                         const std::vector<Candidate>& candidates,
                                         const std::vector<const Cluster*>& clusters);

}  // namespace ddpsim
