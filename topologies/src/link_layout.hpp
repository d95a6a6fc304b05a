// Which GPUs the direct NVLinks of a named layout join.
#pragma once

#include <cstdint>

#include "description.hpp"

namespace ddpsim {

/// Links between GPUs `a` and `b` of a node of `total`.
int links_between(const InterconnectDescription& interconnect, int total, std::uint32_t a,
                  std::uint32_t b);

}  // namespace ddpsim
