// Describes several workloads together on several candidates, a part of ddpsim.compare/1.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/mix_report.hpp"

namespace ddpsim {

const Described<MixReport>& described_mix();

}  // namespace ddpsim
