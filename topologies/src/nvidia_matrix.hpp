// The matrix of `nvidia-smi topo -m`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

bool looks_like_nvidia_matrix(std::string_view text);

/// The node that the matrix shows. It names neither the GPU model nor rates. So NVLinks get the
/// rates of `gpu`, PCIe slots those of its generation, and NIC ports none. `doubts` receives what
/// the text leaves open. Throws InputError.
NodeGraph parse_nvidia_matrix(std::string_view text, const std::string& file, const GpuModel& gpu,
                              std::vector<std::string>* doubts = nullptr);

}  // namespace ddpsim
