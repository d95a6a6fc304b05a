// Ranks that compute alike run one program.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// How one rank takes part in a step.
struct RankState {
  double slowdown = 1;  ///< factor on its compute time
  Duration start;       ///< of its forward, counted from that of rank 0
};

struct RankClass {
  int rank = 0;                          ///< the lowest of them
  std::optional<std::size_t> recording;  ///< into Workload::ranks; absent: the only one
  const RankState* state = nullptr;      ///< absent: as recorded
};

struct RankClasses {
  std::vector<RankClass> classes;          ///< by lowest rank, so that rank 0's comes first
  std::vector<std::size_t> class_of_rank;  ///< empty where all are alike
};

/// Both have written their gradients in one order: their collectives meet.
bool same_order(const Recorded& a, const Recorded& b);

/// `states` by rank, or empty; it must outlive the classes.
RankClasses rank_classes(const Job& job, const std::vector<RankState>& states);

}  // namespace ddpsim
