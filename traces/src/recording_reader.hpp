// What one rank recorded of a step, in a workload file: of the representative rank at its root, of others
// under "ranks".
#pragma once

#include <cstddef>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/sim/values/workload.hpp"
#include "workload_fields.hpp"

namespace ddpsim {

/// Gradients are those of so many parameters; 0: their list could not be read. `host_costs`: where the file may state
/// them.
void read_recorded(const Object& object, std::size_t parameters, WorkloadFields& fields,
                   Recorded& recorded, StatedCosts* host_costs = nullptr);

}  // namespace ddpsim
