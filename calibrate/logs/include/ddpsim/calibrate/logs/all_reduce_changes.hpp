// Compares two logs of all-reduces size by size; some sizes may be faster and others slower.
//
// Logs of equal numbers of ranks are compared by time. With another number of ranks an all-reduce
// moves other bytes, so those are compared by bus bandwidth, busbw = size / time * 2(n - 1)/n.
// Swapping the two logs mirrors the answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// The all-reduce times in a log that were measured with one number of ranks.
struct LoggedAllReduces {
  int ranks = 0;  ///< 0: not stated in the log
  std::vector<std::pair<Bytes, Duration>> out_of_place;
  std::vector<std::pair<Bytes, Duration>> in_place;  ///< for sizes with such times
  int nodes = 0;                                     ///< 0: not stated in the log
  std::string settings = {};                         ///< of NCCL, as in settings_text
};

struct SizeChange {
  Bytes size;
  /// Out of place; the lower median if a log has several.
  Duration before, after;
  /// Growth of the time at equal bus bandwidth; above 1 is slower.
  double growth = 1;
  /// Whether it exceeds kClearChange both out of place and in place.
  bool clear = false;
};

/// Two equal runs differ by less than this except at the smallest sizes, and seldom both in place
/// and out of place.
inline constexpr double kClearChange = 1.1;

struct AllReduceChanges {
  int ranks_before = 0, ranks_after = 0;
  /// Indices of the compared tables on each side.
  std::size_t before = 0, after = 0;
  std::vector<SizeChange> sizes;  ///< common to both logs, ascending
  /// Index of the size that decides: the largest, where the wire matters most, or another one that
  /// changed by clearly more.
  std::size_t compared = 0;
  bool by_busbw() const { return ranks_before != ranks_after; }
  std::size_t slower() const;  ///< number of clearly slower sizes
  std::size_t faster() const;
  const SizeChange& one() const { return sizes[compared]; }
};

/// Compares the largest number of ranks that both have, and among those tables two with equal nodes
/// and settings if there are any. Otherwise compares the first table of each side. Absent if no
/// size is common.
std::optional<AllReduceChanges> all_reduce_changes(const std::vector<LoggedAllReduces>& before,
                                                   const std::vector<LoggedAllReduces>& after);

/// In GB/s as nccl-tests counts it. Absent if the number of ranks is not known.
std::optional<double> known_busbw(Bytes size, Duration time, int ranks);

}  // namespace ddpsim
