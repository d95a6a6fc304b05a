// Results of a calibration of gloo: its constants, whether the logs determine them, and the
// remaining errors.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/fit/gloo_fit.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

struct GlooCalibrationReport {
  std::string cluster;
  std::string output;             ///< file written
  std::vector<std::string> read;  ///< what was recognised, as sentences
  std::vector<std::string> warnings;
  GlooFit fit;
};

std::string gloo_calibration_text(const GlooCalibrationReport& report, const TerminalStyle& style);

/// A document of ddpsim.calibration/1 with "backend": "gloo".
std::string gloo_calibration_json(const GlooCalibrationReport& report);

}  // namespace ddpsim
