// Describes a row of `allreduce`: the time of a collective for a size.
#pragma once

#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"

namespace ddpsim {

/// A size and the table that it belongs to.
struct AllReduceSize {
  const AllReduceRow& row;
  const AllReduceTable& table;
};

std::vector<AllReduceSize> allreduce_sizes(const AllReduceTable& table);
/// A row of the document, preceded by the collective, which the document itself has above its rows.
const Described<AllReduceSize>& described_allreduce_size();

}  // namespace ddpsim
