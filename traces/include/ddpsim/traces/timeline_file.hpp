// Reads the timeline file, ddpsim.timeline/1: spans of one step, simulated or measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

/// Parses a ddpsim.timeline/1 document, which reports/timeline_json writes. `file` is its name in
/// messages. Throws InputError.
Timeline parse_timeline(std::string_view text, const std::string& file);

/// Largest size of a timeline file, in bytes.
inline constexpr std::int64_t kMostTimelineBytes = std::int64_t{256} << 20;

}  // namespace ddpsim
