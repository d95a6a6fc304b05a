// `allreduce --measured LOG`: the all-reduces of a log that are of the table's shape.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// `argument`: LOG or LOG@NODESxGPUS. Throws InputError where none of its logs has this shape.
MeasuredAllReduces read_measured_all_reduces(const std::string& argument,
                                             const AllReduceTable& table);

}  // namespace ddpsim
