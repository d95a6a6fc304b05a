// NCCL searches a node for as many channels as fit, starting with the highest speed in its list. It
// keeps the solution with the largest channels x speed (NVIDIA/nccl src/graph/search.cc, 2.21 to
// 2.30).
//
// - path: At each speed, NVLink alone is tried first. Farther paths follow, up to the farthest path
//   of the best solution so far.
// - order: Of equally good solutions, the first one is kept. Once a solution at speed b is known,
//   speeds below 0.49 b are not tried any more.
// - duplicate: A channel of 25 GB/s or more is split into two of half the speed. The exception is
//   sm_90 and later, if it is below 50 GB/s and there are more than 4 (ncclTopoDupChannels).
// - tree: It has as many channels as the ring. Between nodes, its speed inside a node may rise to
//   twice the speed between nodes, if the links can carry it.
// - nodes: The smallest number of channels and the lowest speed of all nodes count.
//
// In some multi-node shapes, NCCL would split only the tree's channels. Here ring and tree keep the
// same number. Their products, which the tuning table uses, are the same.
#include "channel_derivation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "channel_search.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "nccl_rates.hpp"
#include "nvls_heads.hpp"

namespace ddpsim {
namespace {

constexpr int kMostSearchChannels = kMostChannels / 2;

struct Solution {
  std::vector<ChannelOrder> channels;
  double speed = 0;  ///< GB/s
  PathClass path = PathClass::sys;

  double total() const { return static_cast<double>(channels.size()) * speed; }
};

class NodeSearch {
 public:
  NodeSearch(const NodeType& type, const NodePaths& paths, bool several_nodes)
      : type_(type), several_(several_nodes), paths_(paths) {
    // Only types of path that occur can change a solution. With many GPUs, they are joined by
    // switches, and neighbours represent all pairs.
    constexpr std::uint32_t kMostCompared = 16;
    const std::uint32_t gpus = paths_.gpus();
    for (std::uint32_t a = 0; a < gpus; ++a) {
      for (std::uint32_t b = a + 1; b < (gpus > kMostCompared ? a + 2 : gpus); ++b) {
        const NodePath* path = paths_.between(a, b % gpus);
        if (path != nullptr) levels_.insert(path->path);
      }
    }
    if (levels_.empty()) levels_.insert(PathClass::nvl);
  }

  ChannelWish wish(double inside, double outside, PathClass farthest) const {
    // Traffic between GPUs through an Intel root complex uses 6/5 of the bandwidth.
    constexpr double kIntelRootComplex = 1.2;
    return {.inside = inside,
            .outside = several_ ? outside : 0,
            .farthest = farthest,
            .host_factor = type_.cpu == CpuVendor::intel ? kIntelRootComplex : 1,
            .most = kMostSearchChannels};
  }

  Solution best_ring() const {
    const int capability = type_.gpu.compute_capability;
    const auto speeds =
        several_ ? speeds_between_nodes(capability) : speeds_inside_node(capability);
    Solution best;
    for (const double speed : speeds) {
      if (best.speed > 0 && speed <= 0.49 * best.speed) break;
      for (const PathClass farthest : levels_) {
        if (farthest > best.path) break;
        const ChannelWish wanted = wish(speed, speed, farthest);
        const double enough = best.total() * (1 + 1e-12);
        if (channel_bound(paths_, wanted) * speed <= enough) continue;
        auto channels = search_channels(paths_, wanted);
        if (static_cast<double>(channels.size()) * speed <= enough) continue;
        best = {std::move(channels), speed, farthest};
      }
    }
    return best.channels.empty() ? in_order() : best;
  }

  /// Highest speed inside a node that a tree may use, given the speed between nodes.
  double tree_speed(int channels, double ring_speed, PathClass farthest) const {
    const auto speeds = speeds_between_nodes(type_.gpu.compute_capability);
    double speed = ring_speed;
    for (auto next = speeds.rbegin(); next != speeds.rend(); ++next) {
      if (*next <= speed) continue;
      if (*next > 2 * ring_speed) break;
      ChannelWish wanted = wish(*next, ring_speed, farthest);
      wanted.most = channels;
      if (static_cast<int>(search_channels(paths_, wanted).size()) < channels) break;
      speed = *next;
    }
    return speed;
  }

  /// Whether a tree's edges between nodes must use a single GPU. NCCL first spreads them over two
  /// GPUs that are equally near a NIC. If there are none, it uses one GPU since sm_90; before, it
  /// tries farther paths.
  bool tree_at_one_gpu() const;

  /// What a ring inside the node can use of one GPU's links, nominal.
  Interconnect interconnect() const;

 private:
  Solution in_order() const;
  Interconnect direct_links() const;
  Interconnect host_links() const;

  const NodeType& type_;
  bool several_;
  const NodePaths& paths_;
  std::set<PathClass> levels_;
};

/// For nodes slower than NCCL's slowest speed. NCCL would give up and assume 0.1 GB/s. Here the
/// actual wires count.
Solution NodeSearch::in_order() const {
  const NodeGraph& graph = type_.graph;
  ChannelOrder order;
  std::vector<int> uses(2 * graph.wires.size(), 0);
  PathClass farthest = PathClass::nvl;
  const auto use = [&](const NodePath& path) {
    for (const ArcId arc : path.arcs) ++uses[arc];
  };
  const std::uint32_t gpus = paths_.gpus();
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    order.gpus.push_back(gpu);
    if (gpus == 1 || (several_ && gpu + 1 == gpus)) continue;
    const NodePath& hop = *paths_.between(gpu, (gpu + 1) % gpus);
    use(hop);
    farthest = std::max(farthest, hop.path);
  }
  double speed = std::numeric_limits<double>::infinity();
  if (several_) {
    order.nic_in = 0;
    order.nic_out = paths_.to_nic(gpus - 1, 0) != nullptr ? 0 : paths_.nics() - 1;
    use(*paths_.from_nic(0, 0));
    use(*paths_.to_nic(gpus - 1, *order.nic_out));
    speed = graph.vertices[graph.all(VertexKind::nic).front()].port.gigabytes_per_second();
  }
  for (std::size_t arc = 0; arc < uses.size(); ++arc) {
    if (uses[arc] == 0) continue;
    speed = std::min(speed, graph.wires[arc / 2].nccl.gigabytes_per_second() / uses[arc]);
  }
  return {{order}, speed, farthest};
}

bool NodeSearch::tree_at_one_gpu() const {
  if (type_.gpu.vendor != GpuVendor::nvidia) return false;
  if (paths_.gpus() == 1) return true;
  if (type_.gpu.compute_capability < 90) return false;
  // HGX boards since Hopper have a NIC next to every GPU, whatever switches `wire_node` draws. A
  // Grace CPU has two GPUs.
  const bool board = type_.pcie_assumed && !type_.gpu.name.starts_with("GB");
  if (board && paths_.nics() >= paths_.gpus()) return true;
  for (std::uint32_t nic = 0; nic < paths_.nics(); ++nic) {
    std::vector<PathClass> near;
    for (std::uint32_t gpu = 0; gpu < paths_.gpus(); ++gpu)
      if (const NodePath* path = paths_.from_nic(nic, gpu)) near.push_back(path->path);
    if (near.empty() || std::ranges::count(near, *std::ranges::min_element(near)) < 2) return true;
  }
  return false;
}

Interconnect NodeSearch::interconnect() const {
  if (paths_.gpus() < 2) return {};
  Interconnect links = direct_links();
  return links.kind == IntraKind::none ? host_links() : links;
}

Interconnect NodeSearch::direct_links() const {
  const NodeGraph& graph = type_.graph;
  std::vector<Bandwidth> of_vertex(graph.vertices.size());
  std::vector<int> lanes(graph.vertices.size(), 0);
  bool switched = false;
  // The slowest single NVLink, in NCCL's values.
  double link = std::numeric_limits<double>::infinity();
  double nominal = 1;
  for (const Wire& wire : graph.wires) {
    if (wire.kind != LinkKind::nvlink) continue;
    for (const std::uint32_t end : {wire.a, wire.b}) {
      of_vertex[end] = of_vertex[end] + wire.nominal;
      lanes[end] += wire.lanes;
      switched = switched || graph.vertices[end].kind == VertexKind::nvswitch;
    }
    const double rate = wire.nccl.gigabytes_per_second() / std::max(wire.lanes, 1);
    if (rate < link) {
      link = rate;
      nominal = wire.nominal.gigabytes_per_second() / std::max(wire.lanes, 1);
    }
  }
  const auto gpus = graph.all(VertexKind::gpu);
  if (switched) {
    const bool all_joined = std::all_of(
        gpus.begin(), gpus.end(), [&](std::uint32_t gpu) { return of_vertex[gpu] > Bandwidth(); });
    if (!all_joined) return {};
    const auto least = *std::min_element(
        gpus.begin(), gpus.end(),
        [&](std::uint32_t a, std::uint32_t b) { return of_vertex[a] < of_vertex[b]; });
    return {
        .kind = IntraKind::nvswitch, .per_gpu = of_vertex[least], .links_per_gpu = lanes[least]};
  }
  if (link == std::numeric_limits<double>::infinity()) return {};
  for (const PathClass farthest : {PathClass::nvl, PathClass::nvb}) {
    constexpr int kMostRings = 64;
    const ChannelWish wanted{.inside = link, .farthest = farthest, .most = kMostRings};
    const auto rings = static_cast<int>(search_channels(paths_, wanted).size());
    if (rings == 0) continue;
    return {.kind = IntraKind::nvlink,
            .per_gpu = Bandwidth::gigabytes_per_second(nominal * rings),
            .links_per_gpu = rings};
  }
  return {};
}

Interconnect NodeSearch::host_links() const {
  std::optional<Bandwidth> least;
  PathClass farthest = PathClass::nvl;
  for (std::uint32_t gpu = 0; gpu < paths_.gpus(); ++gpu) {
    const NodePath& hop = *paths_.between(gpu, (gpu + 1) % paths_.gpus());
    if (hop.path <= PathClass::nvb) continue;
    farthest = std::max(farthest, hop.path);
    for (const ArcId arc : hop.arcs) {
      const Wire& wire = type_.graph.wires[arc / 2];
      if (wire.kind != LinkKind::socket)
        least = std::min(least.value_or(wire.nominal), wire.nominal);
    }
  }
  // Below one bridge, NCCL uses peer-to-peer access if the driver allows it.
  const bool one_root = type_.peers_assumed && !type_.pcie_assumed &&
                        type_.peers == PeerAccess::sockets && farthest <= PathClass::pxb;
  return {.kind = IntraKind::pcie,
          .per_gpu = least.value_or(Bandwidth()),
          .peers = one_root ? PeerAccess::one_root : type_.peers,
          .peers_assumed = type_.peers_assumed,
          .to_host = type_.to_host,
          .roots_assumed = type_.roots_assumed};
}

std::string names(const NodeGraph& graph, VertexKind kind, std::uint32_t index) {
  return graph.vertices[graph.all(kind)[index]].name;
}

void require_connected(const ClusterDescription& description, const NodeType& type,
                       const NodePaths& paths, bool several_nodes) {
  const auto apart = [&](VertexKind kind, std::uint32_t index) {
    throw InputError(
        {description.file, type.name == "node" ? "" : type.name,
         fmt::format("{} and {} are not connected", names(type.graph, VertexKind::gpu, 0),
                     names(type.graph, kind, index)),
         "Join them over NVLink, or through PCIe switches and CPUs"});
  };
  for (std::uint32_t gpu = 1; gpu < paths.gpus(); ++gpu) {
    if (paths.between(0, gpu) == nullptr) apart(VertexKind::gpu, gpu);
    // Checks every pair, not only pairs with the first GPU, because NVLink may join some GPUs and
    // PCIe others.
    if (paths.between(gpu, (gpu + 1) % paths.gpus()) == nullptr) apart(VertexKind::gpu, gpu);
  }
  for (std::uint32_t nic = 0; nic < paths.nics() && several_nodes; ++nic) {
    for (std::uint32_t gpu = 0; gpu < paths.gpus(); ++gpu) {
      if (paths.to_nic(gpu, nic) == nullptr) apart(VertexKind::nic, nic);
    }
  }
}

bool splits_channels(int count, double speed, int compute_capability) {
  if (speed < 25 || 2 * count > kMostSearchChannels) return false;
  return !(compute_capability >= 90 && speed < 50 && count > 4);
}

SearchGraph graph(std::size_t channels, double intra, double inter, PathKind path) {
  return {static_cast<int>(channels), Bandwidth::gigabytes_per_second(intra),
          Bandwidth::gigabytes_per_second(inter), path};
}

/// Makes `count` channels from those found. If there are fewer, they repeat from the first.
void repeat_channels(std::vector<ChannelOrder>& channels, std::size_t count) {
  const std::size_t found = channels.size();
  channels.resize(std::min(found, count));
  for (std::size_t i = channels.size(); i < count; ++i) channels.push_back(channels[i % found]);
}

}  // namespace

void derive_channels(const ClusterDescription& description, std::span<const NodePaths> paths,
                     Topology& topology) {
  Cluster& cluster = topology.cluster;
  const bool several = cluster.nodes > 1;
  std::size_t count = kMostSearchChannels;
  double speed = std::numeric_limits<double>::infinity();
  PathClass farthest = PathClass::nvl;
  std::vector<NodeSearch> searches;
  bool first = true;
  for (NodeType& type : topology.node_types) {
    const NodePaths& of_type = paths[searches.size()];
    const NodeSearch& search = searches.emplace_back(type, of_type, several);
    require_connected(description, type, of_type, several && type.hosts == 1);
    const Interconnect links = search.interconnect();
    if (first || links.per_gpu < cluster.intra.per_gpu) cluster.intra = links;
    first = false;
    if (cluster.ranks() == 1) continue;
    Solution ring = search.best_ring();
    count = std::min(count, ring.channels.size());
    speed = std::min(speed, ring.speed);
    farthest = std::max(farthest, ring.path);
    type.channels = std::move(ring.channels);
    type.path = ring.path;
  }
  derive_nvls(cluster, common_heads(paths, several));
  cluster.tree_at_one_gpu = several && std::ranges::any_of(searches, &NodeSearch::tree_at_one_gpu);
  // One GPU per node counts as PCIe in NCCL's tuning, because its path class is not "NVLink".
  const bool nvlink = cluster.gpus_per_node > 1 && farthest == PathClass::nvl;
  const PathKind path = nvlink ? PathKind::nvlink : PathKind::pcie;
  if (cluster.ranks() == 1) {
    // NCCL's value for a path within one GPU.
    constexpr double kLocal = 5000;
    cluster.ring = cluster.tree = graph(1, kLocal, kLocal, path);
    topology.node_types.front().channels = {{.gpus = {0}, .nic_in = {}, .nic_out = {}}};
    return;
  }
  double tree = std::numeric_limits<double>::infinity();
  if (description.stated) {
    count = static_cast<std::size_t>(description.stated->channels);
    speed = tree = description.stated->per_channel.gigabytes_per_second();
  } else {
    for (std::size_t i = 0; i < searches.size(); ++i) {
      const bool chain = several && cluster.gpus_per_node > 1;
      tree = std::min(tree, chain ? searches[i].tree_speed(static_cast<int>(count), speed,
                                                           topology.node_types[i].path)
                                  : speed);
    }
    if (splits_channels(static_cast<int>(count), speed, cluster.gpu.compute_capability)) {
      for (NodeType& type : topology.node_types) repeat_channels(type.channels, count);
      count *= 2;
      speed /= 2;
      tree /= 2;
    }
  }
  for (NodeType& type : topology.node_types) repeat_channels(type.channels, count);
  cluster.ring = graph(count, speed, speed, path);
  cluster.tree = graph(count, tree, speed, path);
}

}  // namespace ddpsim
