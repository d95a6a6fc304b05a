// NCCL's topology XML: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads. The second kind, which
// clouds ship, has no <gpu> and no <nvlink>: NCCL adds them when it runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

bool looks_like_xml(std::string_view text);

struct XmlNode {
  NodeGraph graph;
  std::optional<GpuModel> gpu;  ///< as named, else by PCI device id or compute capability
  bool card = false;            ///< the id says: NVLink only where a bridge is plugged on
  bool dump = true;             ///< false: an NCCL_TOPO_FILE, which cannot say how GPUs are joined
  bool joined = false;          ///< some GPU has NVLink (xGMI)
  CpuVendor cpu = CpuVendor::unknown;
  NetworkKind network = NetworkKind::none;  ///< by PCI device id, else by the names of its devices
  bool gpudirect = true;
  bool collnet = false;
  std::vector<std::string> doubts;       ///< what the file leaves open or what was left out of it
  std::vector<std::string> rate_doubts;  ///< that rates of NICs beside the file settle
};

/// `gpu` where it is named beside the file: it goes before what the file says. Throws InputError.
XmlNode parse_nccl_xml(std::string_view text, const std::string& file,
                       const std::optional<GpuModel>& gpu);

}  // namespace ddpsim
