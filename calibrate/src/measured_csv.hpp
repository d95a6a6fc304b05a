// A table of sizes with times or bandwidths, however it came about.
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

/// Whether the first line names a column of sizes and another one.
bool is_measured_csv(std::string_view text);

RawLog scan_measured_csv(std::string_view text, const std::string& file);

}  // namespace ddpsim
