// The part of ddpsim.cluster/1 that `ddpsim calibrate` writes: docs/formats.md, Calibration. The
// values mean what sim/calibration.hpp says.
#pragma once

#include <string>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/sim/calibration.hpp"

namespace ddpsim {

Calibration read_calibration(const Cursor& cursor);

/// The section's object, indented to stand in a file at the second level; numbers come back bit for
/// bit.
std::string calibration_text(const Calibration& calibration);

}  // namespace ddpsim
