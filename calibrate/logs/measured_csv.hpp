// A table of sizes with times or bandwidths, however it came about.
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

/// Whether the first line names a column of sizes and another one.
bool is_measured_csv(std::string_view text);

/// Whether the first line names a column of sizes and one of times or bandwidths, by names that nobody here knows.
bool has_other_header(std::string_view text);

inline constexpr std::string_view kExpectedColumns =
    "Expected the header size_bytes,time_us: bytes and microseconds, in columns of these names "
    "(also time_ms, "
    "algbw_gbps, busbw_gbps, time_us_inplace); nodes and gpus_per_node may stand beside";

RawLog scan_measured_csv(std::string_view text, const std::string& file);

}  // namespace ddpsim
