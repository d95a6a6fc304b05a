// A measured step beside the simulated one, span by span, as a part of a document.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/timeline_difference.hpp"

namespace ddpsim {

const Described<TimelineDifference>& described_difference();

}  // namespace ddpsim
