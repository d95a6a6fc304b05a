#include <fmt/format.h>

#include <algorithm>

#include "node_paths.hpp"

namespace ddpsim {
namespace {

/// NVLinks that the path uses in parallel.
int lanes_of(const NodeGraph& graph, const NodePath& path) {
  int lanes = graph.wires[path.arcs.front() / 2].lanes;
  for (const ArcId arc : path.arcs) lanes = std::min(lanes, graph.wires[arc / 2].lanes);
  return lanes;
}

}  // namespace

ConnectionMatrix connection_matrix(const NodeGraph& graph, GpuVendor vendor) {
  const NodePaths paths(graph);
  ConnectionMatrix out;
  for (std::uint32_t i = 0; i < paths.gpus(); ++i) out.devices.push_back(fmt::format("GPU{}", i));
  for (std::uint32_t i = 0; i < paths.nics(); ++i) out.devices.push_back(fmt::format("NIC{}", i));
  const auto size = static_cast<std::uint32_t>(out.devices.size());
  for (std::uint32_t a = 0; a < size; ++a) {
    auto& row = out.cells.emplace_back();
    for (std::uint32_t b = 0; b < size; ++b) {
      if (a == b) {
        row.emplace_back("X");
        continue;
      }
      const bool gpus = a < paths.gpus() && b < paths.gpus();
      const NodePath* path = gpus ? paths.between(a, b) : nullptr;
      if (path != nullptr && path->path == PathClass::nvl) {
        const int lanes = lanes_of(graph, *path);
        row.push_back(vendor == GpuVendor::nvidia ? fmt::format("NV{}", lanes)
                      : lanes == 1                ? "XGMI"
                                                  : fmt::format("{}×XGMI", lanes));
        continue;
      }
      const auto host = paths.over_host(a, b);
      row.emplace_back(host ? name_of(host->path) : "-");
    }
  }
  return out;
}

std::string_view name_of(PathClass path) {
  switch (path) {
    case PathClass::nvl:
      return "NVL";
    case PathClass::nvb:
      return "NVB";
    case PathClass::pix:
      return "PIX";
    case PathClass::pxb:
      return "PXB";
    case PathClass::phb:
      return "PHB";
    case PathClass::sys:
      return "SYS";
  }
  return "";
}

}  // namespace ddpsim
