// How near the devices of a node are to each other, pair by pair, and the node graph that follows.
//
// The graph is a tree. Devices that are PIX to each other share a switch. Switches whose devices
// are PXB share a switch above them. Devices that are PHB or NODE share a CPU. NVk hides how near
// two GPUs are over PCIe; the NICs next to them and the NUMA affinity tell instead.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// Distance of two devices over PCIe, from near to far.
enum class Near { switch_, bridge, cpu, system, unknown };

struct MatrixCell {
  Near near = Near::unknown;
  int nvlinks = 0;
  bool self = false;
  std::string word = {};  ///< as written
};

struct MatrixDevice {
  std::string name;
  bool gpu = false;
  std::string numa;  ///< NUMA node, else CPU list; may be empty
};

struct DeviceMatrix {
  std::vector<MatrixDevice> devices;
  std::vector<std::vector<MatrixCell>> cells;
};

/// Draws the node. NVLinks get the rates of `gpu`, PCIe slots those of its generation, and NIC
/// ports none. `file` is the name in messages. Throws InputError if the matrix contradicts itself
/// or the GPU.
NodeGraph draw_node(const DeviceMatrix& matrix, const std::string& file, const GpuModel& gpu);

}  // namespace ddpsim
