// Reads what one rank recorded of a step in a workload file: at the root for the representative
// rank, under "ranks" for others.
#pragma once

#include <cstddef>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "workload_fields.hpp"

namespace ddpsim {

/// `parameters` is the number of parameters; 0 if their list could not be read. `host_costs` is set
/// if the file may state them here.
void read_recorded(const Object& object, std::size_t parameters, WorkloadFields& fields,
                   Recorded& recorded, StatedCosts* host_costs = nullptr);

}  // namespace ddpsim
