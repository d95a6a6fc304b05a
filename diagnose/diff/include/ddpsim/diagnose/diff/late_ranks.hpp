// Which rank is late in a job with several recorded ranks: which rank the others waited for, how
// often, in which kind of work, and what its lateness depends on.
//
// The last rank to arrive at an all-reduce is the one on which it was shortest (step_parts.hpp), so
// the clocks of hosts do not matter. Lateness that stays with a rank comes from its node or slot.
// Lateness that wanders comes from the data. With one late rank, node and slot cannot be told
// apart; with several, what they share tells.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/diagnose/diff/step_difference.hpp"
#include "ddpsim/diagnose/diff/step_parts.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {

struct LateRank {
  int rank = 0;
  std::size_t times_last = 0;  ///< collectives at which the others waited for it
  std::size_t steps_last = 0;  ///< steps in which it caused the longest wait
  /// How long a typical (median) other rank waited for it, per step.
  Duration caused;
  Duration waited;  ///< how long it waited itself, per step
  /// The part of its own step that exceeds the median of the other ranks most, and by how much.
  /// Absent if no part does.
  std::optional<StepPart> work;
  /// Only for kernels: "forward", "backward" or "optimizer".
  std::string_view phase = "";
  Duration longer;
};

enum class LatePattern {
  /// No rank made the others wait longer than ranks vary.
  nobody,
  /// One rank is late in at least kLasting of the steps: its node or its GPU slot is slow.
  one_rank,
  /// A few ranks are late in at least kLasting of the steps. If it were known on which nodes they
  /// run, a slow node or GPU slot would show.
  several,
  /// All ranks of one node, and none of another.
  node,
  slot,       ///< the same place on several nodes
  wandering,  ///< another in each step: data or chance
  unknown     ///< too few steps
};
std::string_view name_of(LatePattern pattern);  ///< "one_rank"
inline constexpr double kLasting = 0.8;

struct LateRanks {
  std::vector<LateRank> ranks;  ///< by rank
  LatePattern pattern = LatePattern::unknown;
  std::vector<int> late;  ///< ranks of the pattern, most costly first
  std::size_t steps = 0;  ///< recorded by all of them
  std::size_t collectives = 0;
  /// Whether all ranks of the job were recorded. If not, the last to arrive may be missing.
  bool complete = false;
  Duration transfer;  ///< of all all-reduces in a step
};

/// Absent if fewer than two ranks recorded the same all-reduces. If `gpus_per_node` is known, ranks
/// are numbered node by node. `joined` holds all collectives of one step, whoever calls them. They
/// are used if the all-reduces of only one step are known.
std::optional<LateRanks> late_ranks(const Workload& workload,
                                    std::optional<int> gpus_per_node = std::nullopt,
                                    std::span<const JoinedCollective> joined = {});

/// How the own steps of the rank that others wait for most changed. Absent if no rank is late, or
/// if either recording does not tell how that rank spends its time.
std::optional<StepDifference> late_rank_difference(const Workload& before, const Workload& now,
                                                   const LateRanks& late);

}  // namespace ddpsim
