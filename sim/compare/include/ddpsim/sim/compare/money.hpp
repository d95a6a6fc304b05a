// What training costs on each of the clusters compared, and which does it for the least.
//
//   USD for a unit of work = USD an hour of the cluster * hours of the work / goodput
//
// A cluster rented costs by the hour; one bought its price over the hours of its life in which it trains, and the
// energy of those hours. Goodput is the share of the time that is training, not checkpoints, restarts
// or work done twice: failures come at random, at a constant rate for each node.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/sim/certainty/figure_range.hpp"
#include "ddpsim/sim/compare/compare.hpp"
#include "ddpsim/sim/compare/mix.hpp"

namespace ddpsim {

/// Of a node that is bought.
struct Ownership {
  double life_hours = 0;              ///< until it is written off
  std::optional<double> utilisation;  ///< share of its life in which it trains
  double node_kw = 0;                 ///< what it draws while it does, cooling included
  double usd_per_kwh = 0;
  bool operator==(const Ownership&) const = default;
};

/// An hour of training on all of its nodes. Precondition: a life, where the price is of a node.
double usd_per_hour(const Price& price, const Cluster& cluster, const Ownership& ownership);

struct Failures {
  double node_mtbf_hours = 0;     ///< mean time from one failure of a node to its next
  double restart_seconds = 0;     ///< from a failure until training goes on
  double checkpoint_seconds = 0;  ///< in which a checkpoint stops training
};

struct Goodput {
  double share = 1;
  double checkpoint_every_seconds = 0;  ///< of training; 0: never
  bool simulated = false;               ///< of a run (elastic.hpp), not Daly's formula
};

/// With checkpoints at Daly's optimal interval, his estimate to the third order (J. T. Daly, A higher order estimate of
/// the optimum checkpoint interval for restart dumps, 2006, equations 37 and 20; Young's to the first).
Goodput goodput(const Failures& failures, int nodes);

/// What a candidate's cost rests on beside its work.
struct CandidateMoney {
  std::optional<Price> price{};        ///< absent: not known
  Ownership ownership{};               ///< of its nodes, where they are bought
  std::optional<Failures> failures{};  ///< absent: nothing fails
  /// What failures leave, where a run was simulated; else Daly's estimate stands.
  std::optional<Goodput> simulated{};
};

struct CandidateCost {
  Price price;
  Ownership ownership{};
  double usd_per_hour = 0;
  Goodput goodput{};
  /// For a unit of work (WorkTime, Mix), failures included; as long as its step may be.
  FigureRange seconds_per_work;
  FigureRange usd_per_work;
  Speedup dearer;         ///< how much less the cheapest costs; all 0 for the cheapest itself
  bool frontier = false;  ///< no other is both cheaper and faster, by what is predicted
};

struct Costs {
  std::vector<std::optional<CandidateCost>> candidates;  ///< absent where no price is known
  std::vector<std::size_t> by_cost;                      ///< of those with a price, cheapest first
};

/// What a candidate does, and how long it may take for a unit of it.
struct TimedWork {
  const WorkTime* work;
  FigureRange seconds;
};
std::vector<TimedWork> timed_works(const Comparison& comparison);
std::vector<TimedWork> timed_works(const Mix& mix);

/// `money`: by candidate.
Costs compare_costs(const std::vector<TimedWork>& works, const std::vector<CandidateMoney>& money);

/// How much less `cheap` costs than `dear` for the same work, failures included. Precondition: both have a price.
Speedup cheaper_by(const Costs& costs, const std::vector<TimedWork>& works, std::size_t cheap,
                   std::size_t dear);

}  // namespace ddpsim
