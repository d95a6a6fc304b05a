// The part of ddpsim.cluster/1 that `ddpsim calibrate` writes (docs/reference/formats.md, Calibration).
// sim/calibration.hpp explains the values.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/sim/values/calibration.hpp"

namespace ddpsim {

/// Description of a fitted constant, with its unit if its key does not name one.
std::string said_of_constant(std::string_view unit, std::string_view meaning);

const ObjectType& calibration_type();
const ObjectType& calibrated_log_type();
const ObjectType& spread_type();

Calibration read_calibration(const Cursor& cursor);

/// Reads one log that a calibration is based on.
CalibratedShape read_calibrated_log(const Cursor& cursor);
void write_calibrated_log(JsonWriter& json, const CalibratedShape& log);

SizeSpread read_spread(const Cursor& cursor);
void write_spread(JsonWriter& json, std::string_view key, const SizeSpread& spread);

/// Writes the section's object. Numbers are read back bit for bit.
void write_calibration(JsonWriter& json, const Calibration& calibration);

}  // namespace ddpsim
