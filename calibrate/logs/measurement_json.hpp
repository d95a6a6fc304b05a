// What ddpsim-real measured (ddpsim.measurement/1): all-reduces by size, or, where none were run
// apart, the buckets' own between the last arrival and the end.
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

bool is_measurement(std::string_view text);
RawLog scan_measurement_json(std::string_view text, const std::string& file);

}  // namespace ddpsim
