// PyTorch traces of a job over gloo as a log to calibrate with.
#pragma once

#include <filesystem>
#include <optional>

#include "ddpsim/calibrate/logs/measured_log.hpp"

namespace ddpsim {

/// Of one trace, or of a folder with one of each rank, which tells the transfers from the waits.
/// Absent where none is of gloo. Throws InputError.
std::optional<MeasuredLog> gloo_trace_log(const std::filesystem::path& path);

}  // namespace ddpsim
