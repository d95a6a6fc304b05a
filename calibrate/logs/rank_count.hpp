// Finds the number of ranks of a table from the table alone. nccl-tests prints busbw = algbw * 2(n
// - 1)/n for an all-reduce. The rounding of each row bounds this factor, and all rows together
// usually leave one n.
#pragma once

#include <optional>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

struct RankRange {
  int low = 1;
  std::optional<int> high;  ///< absent: no upper bound
  double factor_low = 0;    ///< bounds of busbw / algbw
  double factor_high = 2;
  /// Place of the row that contradicts the previous ones; usually empty.
  std::string contradiction;
  bool has(int ranks) const { return ranks >= low && (!high || ranks <= *high); }
  std::optional<int> only() const { return high && *high == low ? high : std::nullopt; }
};

RankRange rank_range(const std::vector<RawRow>& rows);

}  // namespace ddpsim
