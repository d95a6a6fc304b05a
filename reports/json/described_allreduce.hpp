// What a collective takes for a size, as the table of `allreduce` has it.
#pragma once

#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"

namespace ddpsim {

/// A size, and the table it stands in.
struct AllReduceSize {
  const AllReduceRow& row;
  const AllReduceTable& table;
};

std::vector<AllReduceSize> allreduce_sizes(const AllReduceTable& table);
/// A row of the document, behind the collective, which the document has above its rows.
const Described<AllReduceSize>& described_allreduce_size();

}  // namespace ddpsim
