// The GPUs that direct NVLinks join in a named layout.
#pragma once

#include <cstdint>

#include "description.hpp"

namespace ddpsim {

/// Number of links between GPUs `a` and `b` in a node of `total` GPUs.
int links_between(const InterconnectDescription& interconnect, int total, std::uint32_t a,
                  std::uint32_t b);

}  // namespace ddpsim
