// What a PCI vendor and device id say: the product of a GPU, or the model of a NIC.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct PciGpu {
  std::string_view name;  ///< a product of the catalogue, its model alone, or a name that it lacks
  bool card = false;      ///< a PCIe card: NVLink only where a bridge is plugged on
};

struct PciNic {
  std::string_view model;
  int most_gbps = 0;                        ///< of its fastest port
  NetworkKind network = NetworkKind::none;  ///< none: its PCI class tells
};

/// Ids as NCCL writes them: "0x10de", "0x2330". Absent: not in the table.
std::optional<PciGpu> pci_gpu(std::string_view vendor, std::string_view device);
std::optional<PciNic> pci_nic(std::string_view vendor, std::string_view device);

}  // namespace ddpsim
