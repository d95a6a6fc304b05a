// What a calibration of gloo found: its figures, told by the logs or not, and what it misses by.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/fit/gloo_fit.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

struct GlooCalibrationReport {
  std::string cluster;
  std::string output;             ///< file written
  std::vector<std::string> read;  ///< what was recognised, a sentence each
  std::vector<std::string> warnings;
  GlooFit fit;
};

std::string gloo_calibration_text(const GlooCalibrationReport& report, const TerminalStyle& style);

/// ddpsim.calibration/1, whose "backend" is gloo
std::string gloo_calibration_json(const GlooCalibrationReport& report);

}  // namespace ddpsim
