// The timeline file, ddpsim.timeline/1: spans of one step, simulated or measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

/// Parses a ddpsim.timeline/1 document (reports/timeline_json writes it). `file` names it in messages. Throws
/// InputError.
Timeline parse_timeline(std::string_view text, const std::string& file);

/// The most bytes a timeline file may have.
inline constexpr std::int64_t kMostTimelineBytes = std::int64_t{256} << 20;

}  // namespace ddpsim
