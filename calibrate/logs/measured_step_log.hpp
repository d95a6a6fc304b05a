// Reads the all-reduces of a measured step (ddpsim.timeline/1, as ddpsim-real writes it) as a log:
// one row per bucket size.
//
// Every rank's span begins with its wait for the last rank. With all ranks, the shortest span is
// the transfer; if ranks are missing, each span is an upper bound. Only lengths are compared,
// because the clocks of several hosts agree only to half a round trip.
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

bool is_timeline(std::string_view text);
RawLog scan_timeline(std::string_view text, const std::string& file);

}  // namespace ddpsim
