// Describes the recorded job compared with its prediction.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

const Described<RecordedJob>& described_recorded();

}  // namespace ddpsim
