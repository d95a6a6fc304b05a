// What documents say of the job that was recorded, beside what is predicted for it.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

const Described<RecordedJob>& described_recorded();

}  // namespace ddpsim
