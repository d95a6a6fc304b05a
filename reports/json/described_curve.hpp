// A point of the curve that `tune` draws, as its document and its table have it.
#pragma once

#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A point, and what the job's ranks get through in one of its steps.
struct CurveStep : CurvePoint {
  StepWork work;
};
std::vector<CurveStep> curve_steps(const TuneReport& report);
const Described<CurveStep>& described_curve_step();

}  // namespace ddpsim
