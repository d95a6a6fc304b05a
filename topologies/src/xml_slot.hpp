// A PCIe slot as NCCL's topology XML states it, and its rate for the GPU's generation.
#pragma once

#include "ddpsim/topologies/topology.hpp"
#include "xml_text.hpp"

namespace ddpsim {

/// A PCIe slot, in one direction.
struct Slot {
  double nominal = 0;  ///< GB/s
  double nccl = 0;     ///< GB/s
  double lanes = 16;
  bool stated = true;  ///< false: speed unknown, NCCL assumes Gen3
};

Slot read_slot(const XmlText& xml, const pugi::xml_node& pci);

/// GB/s that PCIe of the GPU's generation carries.
double slot_rate_of_generation(const GpuModel& gpu, double lanes);
/// If the file does not state a slot's speed, uses that of the GPU's generation.
Slot with_generation(Slot slot, const GpuModel& gpu);

}  // namespace ddpsim
