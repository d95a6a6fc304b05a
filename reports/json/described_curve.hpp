// Describes a point of the curve of `tune`.
#pragma once

#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A point, and the work that all ranks do in one of its steps.
struct CurveStep : CurvePoint {
  StepWork work;
};
std::vector<CurveStep> curve_steps(const TuneReport& report);
const Described<CurveStep>& described_curve_step();

}  // namespace ddpsim
