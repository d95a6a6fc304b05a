#include "rank_count.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {
namespace {

struct Interval {
  double low, high;
};

Interval around(const Figure& figure) {
  return {std::max(0.0, figure.value - figure.half_unit), figure.value + figure.half_unit};
}

/// algbw computed from size and time, if that is more exact than the printed value.
Interval algbw_of(const RawRow& row) {
  Interval algbw = around(*row.algbw_gbps);
  if (!row.time_us || !(row.time_us->value > row.time_us->half_unit)) return algbw;
  const double kilobytes = static_cast<double>(row.size) / 1e3;
  const Interval time = around(*row.time_us);
  algbw.low = std::max(algbw.low, kilobytes / time.high);
  algbw.high = std::min(algbw.high, kilobytes / time.low);
  return algbw;
}

}  // namespace

RankRange rank_range(const std::vector<RawRow>& rows) {
  constexpr double kSlack = 1e-5;  // of binary fractions printed in decimal
  constexpr double kMost = 1e7;    // ranks
  RankRange range;
  for (const RawRow& row : rows) {
    if (!row.algbw_gbps || !row.busbw_gbps || row.size <= 0) continue;
    const Interval algbw = algbw_of(row);
    const Interval busbw = around(*row.busbw_gbps);
    if (!(algbw.low > 0 && algbw.low <= algbw.high)) continue;
    const double low = std::max(range.factor_low, busbw.low / algbw.high - kSlack);
    const double high = std::min(range.factor_high, busbw.high / algbw.low + kSlack);
    if (low > high) {
      range.contradiction = row.place;
      return range;
    }
    range.factor_low = low;
    range.factor_high = high;
  }
  // n = 2/(2 - factor) grows with the factor.
  const auto ranks_at = [](double factor) { return factor < 2 ? 2 / (2 - factor) : kMost * 2; };
  range.low = std::max(1, static_cast<int>(std::ceil(std::min(ranks_at(range.factor_low), kMost))));
  const double most = ranks_at(range.factor_high);
  if (most < kMost) range.high = static_cast<int>(std::floor(most));
  return range;
}

}  // namespace ddpsim
