// What the ranks of a workload file owe each other, once each is good by itself.
#pragma once

#include <cstddef>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Of one job, each with a recording of its own.
inline constexpr std::size_t kMostRecordedRanks = 65'536;

/// `list` is the place of `workload.ranks`, entry by entry. Throws InputError.
void check_ranks(const Cursor& list, const Workload& workload);

}  // namespace ddpsim
