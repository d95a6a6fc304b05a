// Caps of buckets, and ranges of caps that give the same buckets, as words.
#pragma once

#include <string>
#include <utility>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// A cap as a user would type it, exactly.
std::string exact_cap(double cap_mb);

using CapRange = std::pair<double, double>;

/// `value` with as few decimals as leave it inside the range, rounded towards its inside: what is
/// printed must give what is printed beside it.
std::string cap_inside(double value, const CapRange& range, bool upwards);

/// "46.8186 to 46.8187 MiB", "1680.82 MiB and more"; of another first bucket its size.
std::string range_in_sentence(const CurvePoint& point);

/// "46.8186 to 46.8187", "up to 4.2", "1680.82 and more"; nothing for the default.
std::string range_in_table(const CurvePoint& point);

}  // namespace ddpsim
