// The collectives of one step as all ranks recorded them, on one clock.
//
// Processes on one host share a clock. Clocks of different hosts differ, by microseconds to hours.
// All ranks end a symmetric collective together, except for the last hops on the network. (A
// broadcast is not symmetric, because its root may leave first.) Eight V100 traces of one host
// differ by at most 7 us.
//
// So the offset of a rank's clock is the median, over the collectives, of its end minus the first
// rank's end. If no offset exceeds kSameClock, the clocks are used as they are: then the difference
// comes from the network, not from the clock.
//
// This fails if clocks drift within the step, and for pipelines in which not all ranks take part.
// The remaining spread of the ends shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/traces/rank_trace.hpp"

namespace ddpsim {

struct GroupCollective {
  std::string operation;
  std::optional<Bytes> bytes;
  std::vector<std::int64_t> start_ns;  ///< by rank, on the first rank's clock
  std::vector<std::int64_t> end_ns;

  std::size_t last_to_arrive() const;  ///< index of the rank; first of several
  std::int64_t last_arrival_ns() const { return start_ns[last_to_arrive()]; }
  /// Last arrival minus the (lower) median arrival: how long a typical rank waits for the last one.
  std::int64_t held_up_ns() const;
  /// Shortest duration among the ranks.
  std::int64_t transfer_ns() const;
  std::int64_t end_spread_ns() const;
};

struct CollectiveMatch {
  std::vector<GroupCollective> collectives;  ///< in the first rank's launch order
  std::string mismatch;                      ///< why the ranks do not match; else empty
  std::size_t mismatched_rank = 0;           ///< index of the rank
  std::size_t left_out = 0;                  ///< collectives that not all ranks recorded
};

/// Matches collectives by their numbers in their process groups if all have one. Otherwise the k-th
/// collective of an operation on one rank matches the k-th of that operation on every other rank.
CollectiveMatch match_collectives(const std::vector<RankTrace>& ranks);

struct Clocks {
  std::vector<std::int64_t> shift_ns;  ///< by rank: its clock minus the first rank's
  /// Whether the ranks' clocks differ. False: all shifts are zero.
  bool shifted = false;
  /// Largest spread of the ends of any collective, on the common clock.
  std::int64_t end_spread_ns = 0;
  std::size_t compared = 0;  ///< collectives used to compare the clocks
};

/// Finds the clock offsets, and converts the collectives' times to the first rank's clock.
Clocks align_clocks(std::vector<GroupCollective>& collectives, std::size_t ranks);

}  // namespace ddpsim
