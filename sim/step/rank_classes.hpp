// Rank classes: ranks that behave alike and run one program.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// How one rank takes part in a step.
struct RankState {
  double slowdown = 1;  ///< factor on its compute time
  Duration start;       ///< of its forward, relative to rank 0's
};

struct RankClass {
  int rank = 0;  ///< the lowest rank of the class
  /// Index into Workload::ranks. Absent if there is only one recording.
  std::optional<std::size_t> recording;
  const RankState* state = nullptr;  ///< null: as recorded
};

struct RankClasses {
  std::vector<RankClass> classes;          ///< by lowest rank, rank 0's class first
  std::vector<std::size_t> class_of_rank;  ///< empty if all ranks behave alike
};

/// Whether both wrote their gradients in the same order, so that their collectives match.
bool same_order(const Recorded& a, const Recorded& b);

/// `states` is indexed by rank, or empty. It must outlive the classes.
RankClasses rank_classes(const Job& job, const std::vector<RankState>& states);

}  // namespace ddpsim
