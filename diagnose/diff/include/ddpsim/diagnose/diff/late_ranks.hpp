// Who is late: of a job whose ranks were all recorded, or several of them, which rank the others waited for, how often,
// in which kind of work, and what it goes with.
//
// The last to arrive at an all-reduce is the rank on which it was shortest (step_parts.hpp); clocks of hosts do not
// matter. Lateness that stays with a rank is the node's or the slot's, lateness that wanders the data's: with one rank
// late nothing tells node from slot, with several it shows in what they share.
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
  std::size_t steps_last = 0;  ///< steps in which it made them wait longest
  Duration caused;             ///< what a typical (median) other rank waited for it, a step
  Duration waited;             ///< what it waited itself, a step
  /// The part of its own step that is longest beside the median of the others, and by how much; absent where nothing
  /// of it is.
  std::optional<StepPart> work;
  std::string_view phase = "";  ///< of kernels: "forward", "backward", "optimizer"
  Duration longer;
};

enum class LatePattern {
  nobody,     ///< no rank made the others wait longer than they vary
  one_rank,   ///< the same in at least kLasting of the steps: its node or its slot
  several,    ///< the same few in as many; node or slot would show if ranks' nodes were known
  node,       ///< all ranks of one node, and none of another
  slot,       ///< the same place on several nodes
  wandering,  ///< another in each step: the data, or chance
  unknown     ///< of too few steps
};
std::string_view name_of(LatePattern pattern);  ///< "one_rank"
inline constexpr double kLasting = 0.8;

struct LateRanks {
  std::vector<LateRank> ranks;  ///< by rank
  LatePattern pattern = LatePattern::unknown;
  std::vector<int> late;  ///< of the pattern; the most costly first
  std::size_t steps = 0;  ///< that all of them recorded
  std::size_t collectives = 0;
  bool complete = false;  ///< all ranks of the job; else the last may be one that is not there
  Duration transfer;      ///< a step, all its all-reduces
};

/// Absent where fewer than two ranks recorded the same all-reduces. `gpus_per_node`: where known, ranks lie node by node.
/// `joined`: all collectives of one step, whoever calls them; they count where all-reduces of one step alone are known.
std::optional<LateRanks> late_ranks(const Workload& workload,
                                    std::optional<int> gpus_per_node = std::nullopt,
                                    std::span<const JoinedCollective> joined = {});

/// How the own steps of the rank that others wait for most changed. Absent where nobody is late, or where either recording
/// does not tell where that rank's time goes.
std::optional<StepDifference> late_rank_difference(const Workload& before, const Workload& now,
                                                   const LateRanks& late);

}  // namespace ddpsim
