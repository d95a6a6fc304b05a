#include "ddpsim/topologies/host_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddpsim {
namespace {

/// Wires on the path to the nearest CPU; empty if there is none. GPUs do not forward data.
std::vector<std::size_t> way_to_cpu(const NodeGraph& node, std::uint32_t gpu) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> came_by(node.vertices.size(), kNone);
  std::vector<std::uint32_t> reached = {gpu};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const std::uint32_t at = reached[next];
    if (node.vertices[at].kind == VertexKind::cpu) {
      std::vector<std::size_t> way;
      for (std::uint32_t back = at; back != gpu;) {
        const Wire& wire = node.wires[came_by[back]];
        way.push_back(came_by[back]);
        back = wire.a == back ? wire.b : wire.a;
      }
      return way;
    }
    if (at != gpu && node.vertices[at].kind != VertexKind::pcie_switch) continue;
    for (std::size_t w = 0; w < node.wires.size(); ++w) {
      const Wire& wire = node.wires[w];
      if (wire.kind == LinkKind::nvlink && node.vertices[wire.a].kind != VertexKind::cpu &&
          node.vertices[wire.b].kind != VertexKind::cpu)
        continue;
      if (wire.a != at && wire.b != at) continue;
      const std::uint32_t other = wire.a == at ? wire.b : wire.a;
      if (other == gpu || came_by[other] != kNone) continue;
      came_by[other] = w;
      reached.push_back(other);
    }
  }
  return {};
}

}  // namespace

std::optional<Bandwidth> way_to_host(const NodeGraph& node) {
  std::vector<std::vector<std::size_t>> ways;
  std::vector<int> users(node.wires.size());
  for (const std::uint32_t gpu : node.all(VertexKind::gpu)) {
    ways.push_back(way_to_cpu(node, gpu));
    for (const std::size_t wire : ways.back()) ++users[wire];
  }
  std::optional<Bandwidth> least;
  for (const std::vector<std::size_t>& way : ways)
    for (const std::size_t wire : way) {
      if (node.wires[wire].nominal <= Bandwidth()) continue;
      const Bandwidth share = node.wires[wire].nominal / users[wire];
      least = std::min(least.value_or(share), share);
    }
  return least;
}

std::optional<Bandwidth> host_copy_rate(const NodeGraph& node) {
  const std::optional<Bandwidth> way = way_to_host(node);
  return way ? std::optional(*way * kCopyShare) : std::nullopt;
}

std::optional<Bandwidth> host_copy_rate(const Topology& topology) {
  std::optional<Bandwidth> least;
  for (const NodeType& type : topology.node_types)
    if (const auto rate = host_copy_rate(type.graph))
      least = std::min(least.value_or(*rate), *rate);
  return least;
}

}  // namespace ddpsim
