// `allreduce --measured LOG`: the all-reduces of a log with the table's nodes and GPUs.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Reads LOG or LOG@NODESxGPUS. Throws InputError if none of its logs has this shape.
MeasuredAllReduces read_measured_all_reduces(const std::string& argument,
                                             const AllReduceTable& table);

}  // namespace ddpsim
