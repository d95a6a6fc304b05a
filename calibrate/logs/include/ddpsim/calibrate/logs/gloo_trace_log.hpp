// Turns PyTorch traces of a job over gloo into a log for calibration.
#pragma once

#include <filesystem>
#include <optional>

#include "ddpsim/calibrate/logs/measured_log.hpp"

namespace ddpsim {

/// Takes one trace, or a folder with one trace per rank, which tells transfers from waits. Absent
/// if no trace is of gloo. Throws InputError.
std::optional<MeasuredLog> gloo_trace_log(const std::filesystem::path& path);

}  // namespace ddpsim
