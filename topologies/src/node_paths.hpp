// Paths between GPUs and NICs of one node, in NCCL's path types.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ddpsim/topologies/topology.hpp"
#include "shortest_routes.hpp"

namespace ddpsim {

/// One direction of wire w: 2w is from a to b, 2w + 1 from b to a.
using ArcId = std::uint32_t;
constexpr ArcId opposite(ArcId arc) {
  return arc ^ 1U;
}

struct NodePath {
  PathClass path = PathClass::nvl;
  std::vector<ArcId> arcs;
};

class NodePaths {
 public:
  /// `through_host`: GPUs reach each other only through host memory, even below one PCIe switch.
  explicit NodePaths(const NodeGraph& graph, bool through_host = false);

  std::uint32_t gpus() const { return gpus_; }
  std::uint32_t nics() const { return static_cast<std::uint32_t>(ends_.size()) - gpus_; }
  const NodeGraph& graph() const { return *graph_; }

  /// The nearest path between two GPUs; null if nothing connects them.
  const NodePath* between(std::uint32_t from_gpu, std::uint32_t to_gpu) const;
  /// A path through PCIe, never over NVLink.
  const NodePath* to_nic(std::uint32_t gpu, std::uint32_t nic) const;
  const NodePath* from_nic(std::uint32_t nic, std::uint32_t gpu) const;
  /// The route of data to the network. If no PCIe switch joins GPU and NIC, it goes over NVLink to
  /// a GPU next to the NIC, if there is one (NCCL's PXN).
  std::vector<ArcId> arcs_to_nic(std::uint32_t gpu, std::uint32_t nic) const;
  std::vector<ArcId> arcs_from_nic(std::uint32_t nic, std::uint32_t gpu) const;
  /// A path without NVLink. End points are numbered: GPUs first, then NICs.
  std::optional<NodePath> over_host(std::uint32_t from_end, std::uint32_t to_end) const;

 private:
  /// End points are numbered: GPUs first, then NICs.
  const NodePath* remembered(std::uint32_t from_end, std::uint32_t to_end) const;
  std::optional<NodePath> find(std::uint32_t from, std::uint32_t to) const;
  std::optional<NodePath> host_path(std::uint32_t from, std::uint32_t to) const;
  std::optional<NodePath> by_cpu(std::uint32_t from, std::uint32_t to) const;
  std::optional<NodePath> through_gpu(std::uint32_t from, std::uint32_t to) const;
  PathClass host_class(const std::vector<ArcId>& arcs) const;

  const NodeGraph* graph_;
  bool through_host_;
  std::vector<std::uint32_t> ends_;  ///< vertices of GPUs, then of NICs
  std::uint32_t gpus_;
  std::vector<ArcId> nvlink_arcs_;
  std::vector<ArcId> host_arcs_;
  ShortestRoutes nvlink_;
  ShortestRoutes host_;
  /// For each vertex, NVLinks from a GPU directly to another.
  std::vector<std::vector<ArcId>> direct_;
  struct Remembered {
    bool known = false;
    std::optional<NodePath> path;
  };
  mutable std::vector<Remembered> known_;  ///< by both end points
};

/// One entry for each type of node. The graphs of `topology` must outlive the result.
std::vector<NodePaths> paths_of(const Topology& topology);

}  // namespace ddpsim
