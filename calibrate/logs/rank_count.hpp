// How many ranks a table is of, from the table alone. nccl-tests prints busbw = algbw * 2(n - 1)/n
// for an all-reduce; every row bounds the factor by the rounding of its own figures, and together
// they mostly leave one n.
#pragma once

#include <optional>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

struct RankRange {
  int low = 1;
  std::optional<int> high;  ///< absent: no upper bound
  double factor_low = 0;    ///< what busbw / algbw may be
  double factor_high = 2;
  std::string contradiction;  ///< place of the row that contradicts those before; mostly empty
  bool has(int ranks) const { return ranks >= low && (!high || ranks <= *high); }
  std::optional<int> only() const { return high && *high == low ? high : std::nullopt; }
};

RankRange rank_range(const std::vector<RawRow>& rows);

}  // namespace ddpsim
