// Reads a measurement of ddpsim-real (ddpsim.measurement/1): all-reduces by size. If none were run
// separately, it uses those of the buckets, from the last arrival to the end.
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

bool is_measurement(std::string_view text);
RawLog scan_measurement_json(std::string_view text, const std::string& file);

}  // namespace ddpsim
