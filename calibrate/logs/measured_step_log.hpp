// The all-reduces of a measured step (ddpsim.timeline/1, as ddpsim-real writes it) as a log: one row a bucket size.
//
// Every rank's span begins with its wait for the last rank. Of all ranks' the shortest is the transfer; where some are
// missing, each is an upper bound. Lengths alone are compared: several hosts' clocks agree to half a round trip only.
#pragma once

#include <string>
#include <string_view>

#include "raw_log.hpp"

namespace ddpsim {

bool is_timeline(std::string_view text);
RawLog scan_timeline(std::string_view text, const std::string& file);

}  // namespace ddpsim
