// How near the devices of a node are to each other, pair by pair, and the node that shows it.
//
// From nearness we draw the tree that shows it: devices that are PIX share a switch, switches whose
// devices are PXB share one above, and those that are PHB or NODE a CPU. NVk hides how near two GPUs
// are over PCIe: the NICs beside them and the NUMA affinity tell.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// How near two devices are over PCIe; the nearer the smaller.
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

/// NVLinks get the rates of `gpu`, PCIe slots those of its generation, NIC ports none. `file` is
/// for messages: throws InputError where the matrix contradicts itself or the GPU.
NodeGraph draw_node(const DeviceMatrix& matrix, const std::string& file, const GpuModel& gpu);

}  // namespace ddpsim
