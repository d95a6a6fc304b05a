// The part of ddpsim.cluster/1 that `ddpsim calibrate` writes of gloo: docs/reference/formats.md, Calibration of gloo.
#pragma once

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/sim/values/gloo_calibration.hpp"

namespace ddpsim {

const ObjectType& gloo_type();

GlooCalibration read_gloo(const Cursor& cursor);

/// The section's object; numbers come back bit for bit.
void write_gloo(JsonWriter& json, const GlooCalibration& calibration);

}  // namespace ddpsim
