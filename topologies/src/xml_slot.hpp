// A PCIe slot as NCCL's topology XML states it, and what its GPU's generation makes of it.
#pragma once

#include "ddpsim/topologies/topology.hpp"
#include "xml_text.hpp"

namespace ddpsim {

/// A PCIe slot, in one direction.
struct Slot {
  double nominal = 0;  ///< GB/s
  double nccl = 0;     ///< GB/s
  double lanes = 16;
  bool stated = true;  ///< false: its speed is unknown, NCCL takes Gen3
};

Slot read_slot(const XmlText& xml, const pugi::xml_node& pci);

/// What the GPUs' generation of PCIe carries, GB/s.
double slot_rate_of_generation(const GpuModel& gpu, double lanes);
/// Where the file does not know a slot's speed it is that of the board.
Slot with_generation(Slot slot, const GpuModel& gpu);

}  // namespace ddpsim
