// Whether a row of a table can be true.
#pragma once

#include <cstddef>
#include <string>

#include "raw_log.hpp"

namespace ddpsim {

/// Rows of one log. Each takes about 250 bytes, and a run of nccl-tests has 30.
inline constexpr std::size_t kMostRows = 50'000;

/// The row as a point; time 0 where its figures have too few digits to tell. Throws InputError for
/// what no machine does.
MeasuredPoint checked_point(const RawRow& row, int ranks, const std::string& file);

/// algbw = size / time / 1e9, whatever else; where they disagree, columns or units were mixed up.
void check_algbw(const RawRow& row, const std::string& file);

}  // namespace ddpsim
