// The collectives of one step as all ranks saw them, on one clock.
//
// Clocks. Processes of one host share a clock; hosts differ, by microseconds to hours. All ranks of a
// symmetric collective (not a broadcast, whose root may leave first) end together but for the last
// hops of the wire: 7 us apart at most in eight V100 traces of one host. So a rank's clock is off by
// the median, over the collectives, of its end minus the first rank's. Where no rank is off by more
// than kSameClock the clocks are taken as they are: then the difference is the wire, not the clock.
// It stops being true where clocks drift within the step, and for pipelines whose ranks do not all
// take part; the spread of the ends that is left says so.
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
  std::vector<std::int64_t> start_ns;  ///< by rank, on the clock of the first
  std::vector<std::int64_t> end_ns;

  std::size_t last_to_arrive() const;  ///< position; the first of several
  std::int64_t last_arrival_ns() const { return start_ns[last_to_arrive()]; }
  /// Last arrival minus the (lower) median arrival: what a typical rank waits for the last.
  std::int64_t held_up_ns() const;
  /// Shortest duration among the ranks.
  std::int64_t transfer_ns() const;
  std::int64_t end_spread_ns() const;
};

struct CollectiveMatch {
  std::vector<GroupCollective> collectives;  ///< in the first rank's order of launch
  std::string mismatch;                      ///< why the ranks do not match; empty when they do
  std::size_t mismatched_rank = 0;           ///< position
  std::size_t left_out = 0;                  ///< collectives that not all ranks recorded
};

/// By their numbers in their process groups, where every collective has one; else the k-th collective of an operation on one
/// rank is the k-th of it on every other.
CollectiveMatch match_collectives(const std::vector<RankTrace>& ranks);

struct Clocks {
  std::vector<std::int64_t> shift_ns;  ///< by rank: its clock minus the first rank's
  bool shifted = false;                ///< false: clocks agree, shifts are all zero
  std::int64_t end_spread_ns = 0;      ///< largest, over the collectives, on the common clock
  std::size_t compared = 0;            ///< collectives the clocks were compared by
};

/// Finds the clocks and moves the collectives' times to that of the first rank.
Clocks align_clocks(std::vector<GroupCollective>& collectives, std::size_t ranks);

}  // namespace ddpsim
