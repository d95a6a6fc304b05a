// Describes a measured step compared with the simulated one, span by span.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/timeline_difference.hpp"

namespace ddpsim {

const Described<TimelineDifference>& described_difference();

}  // namespace ddpsim
