// Results of a calibration: the fit by log and size, constants with intervals, and where the cost
// model is off.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/fit/shapes_left_out.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

struct CalibrationReport {
  std::string cluster;
  std::string output;             ///< file written
  std::vector<std::string> read;  ///< what was recognised, as sentences
  std::vector<std::string> warnings;
  Fit fit;
  std::vector<ShapeLeftOut> shapes_left_out;  ///< each predicted without its logs
  /// GPUs of a node. Set only if nodes share an NVLink domain, which job shapes count as one node.
  std::optional<int> gpus_per_host = {};
};

std::string calibration_report_text(const CalibrationReport& report, const TerminalStyle& style);

/// A document of ddpsim.calibration/1.
std::string calibration_report_json(const CalibrationReport& report);

}  // namespace ddpsim
