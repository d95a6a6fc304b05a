// What the ranks of a workload file owe each other, once each is good by itself.
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/sim/workload.hpp"

namespace ddpsim {

/// `list` is the place of `workload.ranks`, entry by entry. Throws InputError.
void check_ranks(const Cursor& list, const Workload& workload);

}  // namespace ddpsim
