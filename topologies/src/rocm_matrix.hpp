// The tables of `rocm-smi --showtopo` and `amd-smi topology`.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

bool looks_like_rocm_matrix(std::string_view text);

/// The node they show: xGMI gets the rates of `gpu`, PCIe slots those of its generation. NICs are not in them. Throws
/// InputError.
NodeGraph parse_rocm_matrix(std::string_view text, const std::string& file, const GpuModel& gpu);

}  // namespace ddpsim
