// What clusters cost: --price and what a price needs beside it, failures, and how much is to be trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "candidates.hpp"
#include "ddpsim/sim/money.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct MoneyArguments {
  std::vector<std::string> prices;
  std::optional<std::string> life;
  std::optional<std::string> utilisation;
  std::optional<std::string> node_power;
  std::optional<double> energy_price;
  std::optional<std::string> mtbf;
  std::optional<std::string> restart;
  std::optional<std::string> checkpoint;
};

void add_money_options(CLI::App& command, MoneyArguments& arguments);
/// Of them --mtbf, --restart and --checkpoint alone.
void add_failure_options(CLI::App& command, MoneyArguments& arguments);

/// What --life, --utilisation, --node-power and --energy-price say; no life where none was given. Throws UsageError.
Ownership ownership(const MoneyArguments& arguments);

/// Absent without --mtbf. Throws UsageError.
std::optional<Failures> failures(const MoneyArguments& arguments);

/// For studies that give some candidates a price: the others cost what their files list, as with any --price.
void list_other_prices(MoneyArguments& arguments);

/// Of each candidate, on its cluster (null: it could not be read): its own price, or that of --price, else the first its
/// cluster's file lists; absent where neither is, or where what is listed is a price of purchase and nobody says over how
/// long. Without --price nothing has one. Throws UsageError.
std::vector<std::optional<Price>> prices(const MoneyArguments& arguments,
                                         const std::vector<Candidate>& candidates,
                                         const std::vector<const Cluster*>& clusters);

}  // namespace ddpsim
