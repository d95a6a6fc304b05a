// The comparison of one workload on several candidates, as a part of ddpsim.compare/1.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// All but its warnings.
const Described<CompareReport>& described_comparison();

}  // namespace ddpsim
