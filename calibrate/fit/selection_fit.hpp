// How NCCL chose where the logs were taken: the selection under which they are explained best.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/calibration.hpp"
#include "fit_parts.hpp"
#include "kriging_fit.hpp"

namespace ddpsim {

/// Point by point over all parts.
struct Explained {
  FittedSelection selection;
  std::vector<CollectiveChoice> choices;
  std::vector<OperatingPoint> operating_points;
  KrigingFit solved;
};

/// The constants, the correction and the selection that explain the logs best.
Explained explain(const std::vector<Part>& parts, const std::vector<CalibratedShape>& shapes);

/// What the logs say of NCCL's choices between nodes that its table would not; empty where nothing.
std::string note_of(const FittedSelection& selection);

/// The cost model's times of all parts, point by point, with a calibration.
std::vector<double> times_us(const std::vector<Part>& parts,
                             const std::vector<CollectiveChoice>& choices,
                             const Calibration& calibration);

}  // namespace ddpsim
