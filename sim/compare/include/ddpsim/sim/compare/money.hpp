// What training costs on each of the compared clusters, and which one does it for the least money.
//
//   USD for a unit of work = USD an hour of the cluster * hours of the work / goodput
//
// A rented cluster costs its price by the hour. A bought one costs its price, spread over the hours
// of its life in which it trains, and the energy of those hours. Goodput is the share of time spent
// training, not on checkpoints, restarts or work done twice. Failures come at random, at a constant
// rate for each node.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/sim/certainty/figure_range.hpp"
#include "ddpsim/sim/compare/compare.hpp"
#include "ddpsim/sim/compare/mix.hpp"

namespace ddpsim {

/// Costs and life of a node that is bought.
struct Ownership {
  double life_hours = 0;              ///< until it is written off
  std::optional<double> utilisation;  ///< share of its life in which it trains
  double node_kw = 0;                 ///< power while it trains, cooling included
  double usd_per_kwh = 0;
  bool operator==(const Ownership&) const = default;
};

/// Price of an hour of training on all nodes. Precondition: `ownership` states a life if the price
/// is that of a node.
double usd_per_hour(const Price& price, const Cluster& cluster, const Ownership& ownership);

struct Failures {
  double node_mtbf_hours = 0;     ///< mean time between failures of a node
  double restart_seconds = 0;     ///< from a failure until training goes on
  double checkpoint_seconds = 0;  ///< for which a checkpoint stops training
};

struct Goodput {
  double share = 1;
  double checkpoint_every_seconds = 0;  ///< training time between two; 0: never
  bool simulated = false;               ///< from a run (elastic.hpp), not Daly's formula
};

/// Goodput with checkpoints at Daly's optimal interval, his estimate to the third order (Young's is
/// to the first). Source: J. T. Daly, A higher order estimate of the optimum checkpoint interval
/// for restart dumps, 2006, equations 37 and 20.
Goodput goodput(const Failures& failures, int nodes);

/// What a candidate's cost depends on, apart from its work.
struct CandidateMoney {
  std::optional<Price> price{};        ///< absent if not known
  Ownership ownership{};               ///< of its nodes, if they are bought
  std::optional<Failures> failures{};  ///< absent: nothing fails
  /// Goodput from a simulated run; absent: Daly's estimate is used.
  std::optional<Goodput> simulated{};
};

struct CandidateCost {
  Price price;
  Ownership ownership{};
  double usd_per_hour = 0;
  Goodput goodput{};
  /// For a unit of work (WorkTime, Mix), failures included, with the interval of its step.
  FigureRange seconds_per_work;
  FigureRange usd_per_work;
  /// How much less the cheapest costs; all 0 for the cheapest itself.
  Speedup dearer;
  /// As predicted, no other candidate is both cheaper and faster.
  bool frontier = false;
};

struct Costs {
  std::vector<std::optional<CandidateCost>> candidates;  ///< absent if no price is known
  /// Indices of the candidates with a price, cheapest first.
  std::vector<std::size_t> by_cost;
};

/// The work of a candidate, and the interval of its time for a unit of it.
struct TimedWork {
  const WorkTime* work;
  FigureRange seconds;
};
std::vector<TimedWork> timed_works(const Comparison& comparison);
std::vector<TimedWork> timed_works(const Mix& mix);

/// `money` has one entry per candidate.
Costs compare_costs(const std::vector<TimedWork>& works, const std::vector<CandidateMoney>& money);

/// How much less `cheap` costs than `dear` for the same work, failures included. Precondition: both have a price.
Speedup cheaper_by(const Costs& costs, const std::vector<TimedWork>& works, std::size_t cheap,
                   std::size_t dear);

}  // namespace ddpsim
