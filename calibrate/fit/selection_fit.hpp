// Finds how NCCL chose when the logs were taken: the selection that explains the logs best.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/calibration.hpp"
#include "fit_parts.hpp"
#include "kriging_fit.hpp"

namespace ddpsim {

/// One entry per point, over all parts.
struct Explained {
  FittedSelection selection;
  std::vector<CollectiveChoice> choices;
  std::vector<OperatingPoint> operating_points;
  KrigingFit solved;
};

/// The constants, the correction and the selection that explain the logs best.
Explained explain(const std::vector<Part>& parts, const std::vector<CalibratedShape>& shapes);

/// What the logs say about NCCL's choices between nodes, where they differ from its table. Empty if
/// they do not.
std::string note_of(const FittedSelection& selection);

/// The cost model's times with a calibration, point by point over all parts.
std::vector<double> times_us(const std::vector<Part>& parts,
                             const std::vector<CollectiveChoice>& choices,
                             const Calibration& calibration);

}  // namespace ddpsim
