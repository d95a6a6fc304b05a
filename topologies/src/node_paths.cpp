#include "node_paths.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

bool is_nvlink(const Wire& wire) {
  return wire.kind == LinkKind::nvlink;
}

std::vector<ArcId> arcs_of(const NodeGraph& graph, bool nvlink) {
  std::vector<ArcId> arcs;
  for (std::uint32_t w = 0; w < graph.wires.size(); ++w) {
    if (is_nvlink(graph.wires[w]) != nvlink) continue;
    arcs.push_back(2 * w);
    arcs.push_back(2 * w + 1);
  }
  return arcs;
}

std::uint32_t tail(const NodeGraph& graph, ArcId arc) {
  const Wire& wire = graph.wires[arc / 2];
  return arc % 2 == 0 ? wire.a : wire.b;
}

std::uint32_t head(const NodeGraph& graph, ArcId arc) {
  return tail(graph, opposite(arc));
}

/// Data passes through switches and CPUs, never through an end point.
ShortestRoutes routes_over(const NodeGraph& graph, const std::vector<ArcId>& arcs) {
  std::vector<Arc> out;
  for (const ArcId arc : arcs) {
    out.push_back(
        {tail(graph, arc), head(graph, arc), graph.wires[arc / 2].nccl.gigabytes_per_second()});
  }
  std::vector<bool> passable;
  for (const Vertex& vertex : graph.vertices) {
    passable.push_back(vertex.kind != VertexKind::gpu && vertex.kind != VertexKind::nic);
  }
  return {std::move(out), std::move(passable)};
}

std::vector<ArcId> chosen(const std::vector<ArcId>& arcs, std::vector<std::uint32_t> indices) {
  for (std::uint32_t& index : indices) index = arcs[index];
  return indices;
}

}  // namespace

NodePaths::NodePaths(const NodeGraph& graph, bool through_host)
    : graph_(&graph),
      through_host_(through_host),
      ends_(graph.all(VertexKind::gpu)),
      gpus_(static_cast<std::uint32_t>(ends_.size())),
      nvlink_arcs_(arcs_of(graph, true)),
      host_arcs_(arcs_of(graph, false)),
      nvlink_(routes_over(graph, nvlink_arcs_)),
      host_(routes_over(graph, host_arcs_)),
      direct_(graph.vertices.size()) {
  const auto nics = graph.all(VertexKind::nic);
  ends_.insert(ends_.end(), nics.begin(), nics.end());
  known_.resize(ends_.size() * ends_.size());
  for (const ArcId arc : nvlink_arcs_) {
    if (graph.vertices[tail(graph, arc)].kind == VertexKind::gpu &&
        graph.vertices[head(graph, arc)].kind == VertexKind::gpu) {
      direct_[tail(graph, arc)].push_back(arc);
    }
  }
}

const NodePath* NodePaths::between(std::uint32_t from_gpu, std::uint32_t to_gpu) const {
  return remembered(from_gpu, to_gpu);
}

const NodePath* NodePaths::to_nic(std::uint32_t gpu, std::uint32_t nic) const {
  return remembered(gpu, gpus_ + nic);
}

const NodePath* NodePaths::from_nic(std::uint32_t nic, std::uint32_t gpu) const {
  return remembered(gpus_ + nic, gpu);
}

std::vector<ArcId> NodePaths::arcs_to_nic(std::uint32_t gpu, std::uint32_t nic) const {
  const NodePath& straight = *to_nic(gpu, nic);
  for (std::uint32_t relay = 0; relay < gpus() && straight.path > PathClass::pxb; ++relay) {
    const NodePath* near = to_nic(relay, nic);
    if (relay == gpu || near == nullptr || near->path > PathClass::pxb) continue;
    const NodePath* hop = between(gpu, relay);
    if (hop == nullptr || hop->path != PathClass::nvl) continue;
    std::vector<ArcId> arcs = hop->arcs;
    arcs.insert(arcs.end(), near->arcs.begin(), near->arcs.end());
    return arcs;
  }
  return straight.arcs;
}

std::vector<ArcId> NodePaths::arcs_from_nic(std::uint32_t nic, std::uint32_t gpu) const {
  std::vector<ArcId> arcs = arcs_to_nic(gpu, nic);
  std::reverse(arcs.begin(), arcs.end());
  for (ArcId& arc : arcs) arc = opposite(arc);
  return arcs;
}

const NodePath* NodePaths::remembered(std::uint32_t from_end, std::uint32_t to_end) const {
  Remembered& entry = known_[from_end * ends_.size() + to_end];
  if (!entry.known) {
    entry.path = find(ends_[from_end], ends_[to_end]);
    entry.known = true;
  }
  return entry.path ? &*entry.path : nullptr;
}

std::optional<NodePath> NodePaths::find(std::uint32_t from, std::uint32_t to) const {
  auto nvlink = chosen(nvlink_arcs_, nvlink_.route(from, to));
  if (!nvlink.empty()) return NodePath{PathClass::nvl, std::move(nvlink)};
  if (auto bridged = through_gpu(from, to)) return bridged;
  return host_path(from, to);
}

std::optional<NodePath> NodePaths::over_host(std::uint32_t from_end, std::uint32_t to_end) const {
  return host_path(ends_[from_end], ends_[to_end]);
}

std::optional<NodePath> NodePaths::host_path(std::uint32_t from, std::uint32_t to) const {
  auto host = chosen(host_arcs_, host_.route(from, to));
  if (host.empty()) return std::nullopt;
  const PathClass path = host_class(host);
  const auto is_gpu = [&](std::uint32_t end) {
    return graph_->vertices[end].kind == VertexKind::gpu;
  };
  if (through_host_ && path <= PathClass::pxb && is_gpu(from) && is_gpu(to))
    if (auto way = by_cpu(from, to)) return way;
  return NodePath{path, std::move(host)};
}

/// A path up to the nearest CPU and down again (NCCL's graph/paths.cc without peer-to-peer access).
std::optional<NodePath> NodePaths::by_cpu(std::uint32_t from, std::uint32_t to) const {
  std::optional<NodePath> nearest;
  for (const std::uint32_t cpu : graph_->all(VertexKind::cpu)) {
    auto up = chosen(host_arcs_, host_.route(from, cpu));
    const auto down = chosen(host_arcs_, host_.route(cpu, to));
    if (up.empty() || down.empty()) continue;
    up.insert(up.end(), down.begin(), down.end());
    if (!nearest || up.size() < nearest->arcs.size())
      nearest = NodePath{host_class(up), std::move(up)};
  }
  return nearest;
}

/// The widest path through one other GPU.
std::optional<NodePath> NodePaths::through_gpu(std::uint32_t from, std::uint32_t to) const {
  std::optional<NodePath> best;
  Bandwidth widest;
  for (const ArcId first : direct_[from]) {
    for (const ArcId second : direct_[head(*graph_, first)]) {
      if (head(*graph_, second) != to) continue;
      const Bandwidth width =
          std::min(graph_->wires[first / 2].nccl, graph_->wires[second / 2].nccl);
      if (!(width > widest)) continue;
      widest = width;
      best = NodePath{PathClass::nvb, {first, second}};
    }
  }
  return best;
}

PathClass NodePaths::host_class(const std::vector<ArcId>& arcs) const {
  int switches = 0;
  int cpus = 0;
  for (std::size_t i = 0; i + 1 < arcs.size(); ++i) {
    const VertexKind kind = graph_->vertices[head(*graph_, arcs[i])].kind;
    switches += kind == VertexKind::pcie_switch ? 1 : 0;
    cpus += kind == VertexKind::cpu ? 1 : 0;
  }
  if (cpus > 1) return PathClass::sys;
  if (cpus == 1) return PathClass::phb;
  return switches > 1 ? PathClass::pxb : PathClass::pix;
}

std::vector<NodePaths> paths_of(const Topology& topology) {
  std::vector<NodePaths> paths;
  for (const NodeType& type : topology.node_types)
    paths.emplace_back(type.graph, type.peers == PeerAccess::host);
  return paths;
}

}  // namespace ddpsim
