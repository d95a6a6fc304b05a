// Two logs of all-reduces side by side, size by size: some may have become faster and others slower.
//
// Logs of as many ranks are compared by time. With other numbers of ranks an all-reduce moves other bytes, so those are
// compared by bus bandwidth, busbw = size / time * 2(n - 1)/n. Both ways round the answer is the same, mirrored.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// What a log timed on one number of ranks.
struct LoggedAllReduces {
  int ranks = 0;  ///< 0: the log does not say
  std::vector<std::pair<Bytes, Duration>> out_of_place;
  std::vector<std::pair<Bytes, Duration>> in_place;  ///< of sizes that have such times
  int nodes = 0;                                     ///< 0: the log does not say
  std::string settings = {};                         ///< of NCCL's, as settings_text
};

struct SizeChange {
  Bytes size;
  Duration before, after;  ///< out of place; the lower median where a log has several
  double growth = 1;       ///< of the time, at the same bus bandwidth; above 1 is slower
  bool clear = false;      ///< by more than kClearChange, out of place and in place alike
};

/// Two runs of one thing differ by less, beyond the smallest sizes, and seldom in both places alike.
inline constexpr double kClearChange = 1.1;

struct AllReduceChanges {
  int ranks_before = 0, ranks_after = 0;
  std::size_t before = 0, after = 0;  ///< which of each side's tables are compared
  std::vector<SizeChange> sizes;      ///< of both logs, ascending
  /// What the two are compared by: the largest, where the wire decides; another, where that changed by clearly more.
  std::size_t compared = 0;
  bool by_busbw() const { return ranks_before != ranks_after; }
  std::size_t slower() const;  ///< clearly
  std::size_t faster() const;
  const SizeChange& one() const { return sizes[compared]; }
};

/// Of the largest number of ranks that both have, of their tables two that are alike in nodes and settings where there are;
/// else of the first of each. Absent: no size in common.
std::optional<AllReduceChanges> all_reduce_changes(const std::vector<LoggedAllReduces>& before,
                                                   const std::vector<LoggedAllReduces>& after);

/// GB/s, as nccl-tests counts it; absent where the number of ranks is not known.
std::optional<double> known_busbw(Bytes size, Duration time, int ranks);

}  // namespace ddpsim
