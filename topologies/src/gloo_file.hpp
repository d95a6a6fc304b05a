// The part of ddpsim.cluster/1 that `ddpsim calibrate` writes for gloo (docs/reference/formats.md,
// Calibration of gloo).
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/sim/values/gloo_calibration.hpp"

namespace ddpsim {

const ObjectType& gloo_type();

GlooCalibration read_gloo(const Cursor& cursor);

/// Writes the section's object. Numbers are read back bit for bit.
void write_gloo(JsonWriter& json, const GlooCalibration& calibration);

}  // namespace ddpsim
