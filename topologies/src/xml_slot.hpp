// Reads the rate of a PCIe slot from NCCL's topology XML. A GPU's slot is limited by the PCIe
// generation of its GPU, which also gives the rate if the file has none.
#pragma once

#include "ddpsim/topologies/topology.hpp"
#include "xml_text.hpp"

namespace ddpsim {

/// A PCIe slot, in one direction.
struct Slot {
  double nominal = 0;  ///< GB/s
  double nccl = 0;     ///< GB/s
  double lanes = 16;
  /// Whether the file gives the slot's speed. False: NCCL assumes PCIe Gen3.
  bool stated = true;
};

Slot read_slot(const XmlText& xml, const pugi::xml_node& pci);

/// GB/s of a slot with this many lanes in the PCIe generation that the GPU supports.
double slot_rate_of_generation(const GpuModel& gpu, double lanes);
/// The slot, with the rate of the GPU's PCIe generation if the file gives no speed.
Slot with_generation(Slot slot, const GpuModel& gpu);

}  // namespace ddpsim
