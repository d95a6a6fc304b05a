// Reads a table of sizes with times or bandwidths from any source.
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

/// Whether the first line names a column of sizes and another known column.
bool is_measured_csv(std::string_view text);

/// Whether the first line seems to name sizes and times or bandwidths, but with unknown names.
bool has_other_header(std::string_view text);

inline constexpr std::string_view kExpectedColumns =
    "Expected the header size_bytes,time_us: bytes and microseconds, in columns of these names "
    "(also time_ms, algbw_gbps, busbw_gbps, time_us_inplace); nodes and gpus_per_node are "
    "optional";

RawLog scan_measured_csv(std::string_view text, const std::string& file);

}  // namespace ddpsim
