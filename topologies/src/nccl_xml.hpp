// NCCL's topology XML: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

bool looks_like_xml(std::string_view text);

struct XmlNode {
  NodeGraph graph;
  std::optional<GpuModel> gpu;  ///< by compute capability, where one model has it
  CpuVendor cpu = CpuVendor::unknown;
  NetworkKind network = NetworkKind::none;  ///< guessed from the names of its devices
  bool gpudirect = true;
  bool collnet = false;
};

/// `gpu` where the file alone cannot tell. Throws InputError.
XmlNode parse_nccl_xml(std::string_view text, const std::string& file,
                       const std::optional<GpuModel>& gpu);

}  // namespace ddpsim
