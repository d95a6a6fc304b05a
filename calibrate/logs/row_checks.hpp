// Checks whether a row of a table can be true.
#pragma once

#include <cstddef>
#include <string>

#include "raw_log.hpp"

namespace ddpsim {

/// Limit on the rows of one log. Each takes about 250 bytes, and a run of nccl-tests has 30.
inline constexpr std::size_t kMostRows = 50'000;

/// The row as a point. Its time is 0 if its values have too few digits. Throws InputError for what
/// no machine can do.
MeasuredPoint checked_point(const RawRow& row, int ranks, const std::string& file);

/// Checks algbw = size / time / 1e9. If they disagree, columns or units were mixed up.
void check_algbw(const RawRow& row, const std::string& file);

}  // namespace ddpsim
