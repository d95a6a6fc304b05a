// NCCL's topology XML. NCCL_TOPO_DUMP_FILE writes it, and NCCL_TOPO_FILE reads it. Clouds ship
// files of the second kind without <gpu> and <nvlink>; NCCL adds these when it runs.
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
  /// From its name, otherwise from the PCI device id or the compute capability.
  std::optional<GpuModel> gpu;
  /// By its id a PCIe card, which has NVLink only through a bridge.
  bool card = false;
  /// False: an NCCL_TOPO_FILE, which cannot say how GPUs are joined.
  bool dump = true;
  bool joined = false;  ///< some GPU has NVLink or xGMI
  CpuVendor cpu = CpuVendor::unknown;
  /// By PCI device id, otherwise by the device names.
  NetworkKind network = NetworkKind::none;
  bool gpudirect = true;
  bool collnet = false;
  /// What the file leaves open, or what was left out of it.
  std::vector<std::string> doubts;
  /// Doubts that NIC rates in the user's words resolve.
  std::vector<std::string> rate_doubts;
};

/// `gpu` is the user's word; it overrides what the file says. Throws InputError.
XmlNode parse_nccl_xml(std::string_view text, const std::string& file,
                       const std::optional<GpuModel>& gpu);

}  // namespace ddpsim
