// Bucket caps, and ranges of caps that give the same buckets, in words.
#pragma once

#include <string>
#include <utility>

#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

/// The exact cap as a user would type it.
std::string exact_cap(double cap_mb);

using CapRange = std::pair<double, double>;

/// `value` with few decimals, rounded so that it stays inside `range`: the printed cap must give
/// the buckets printed with it.
std::string cap_inside(double value, const CapRange& range, bool upwards);

/// "46.8186 to 46.8187 MiB", "1680.82 MiB and more". Without a cap it names the size of the first
/// bucket.
std::string range_in_sentence(const CurvePoint& point);

/// "46.8186 to 46.8187", "up to 4.2", "1680.82 and more"; empty for the default.
std::string range_in_table(const CurvePoint& point);

}  // namespace ddpsim
