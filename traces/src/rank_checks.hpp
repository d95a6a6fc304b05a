// Checks that the ranks of a workload file fit together, once each one is valid by itself.
#pragma once

#include <cstddef>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Most ranks of one job with a recording of their own.
inline constexpr std::size_t kMostRecordedRanks = 65'536;

/// `list` is the document's list of `workload.ranks`, entry by entry. Throws InputError.
void check_ranks(const Cursor& list, const Workload& workload);

}  // namespace ddpsim
