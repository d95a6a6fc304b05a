// Describes the comparison of one workload on several candidates, a part of ddpsim.compare/1.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Every key except warnings.
const Described<CompareReport>& described_comparison();

}  // namespace ddpsim
