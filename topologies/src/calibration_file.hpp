// The part of ddpsim.cluster/1 that `ddpsim calibrate` writes: docs/formats.md, Calibration. The
// values mean what sim/calibration.hpp says.
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/sim/calibration.hpp"

namespace ddpsim {

Calibration read_calibration(const Cursor& cursor);

/// The section's object; numbers come back bit for bit.
void write_calibration(JsonWriter& json, const Calibration& calibration);

}  // namespace ddpsim
