// Meaning of a PCI vendor and device id: the product of a GPU, or the model of a NIC.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct PciGpu {
  /// A product of the catalogue, only its model, or a name that the catalogue lacks.
  std::string_view name;
  bool card = false;  ///< a PCIe card: NVLink only through a bridge
};

struct PciNic {
  std::string_view model;
  int most_gbps = 0;                        ///< rate of its fastest port
  NetworkKind network = NetworkKind::none;  ///< none: its PCI class tells
};

/// Takes ids as NCCL writes them: "0x10de", "0x2330". Absent if they are not in the table.
std::optional<PciGpu> pci_gpu(std::string_view vendor, std::string_view device);
std::optional<PciNic> pci_nic(std::string_view vendor, std::string_view device);

}  // namespace ddpsim
