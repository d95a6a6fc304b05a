// Every wire of a node becomes two links. Every NIC has two links to its switch, and every trunk is
// two links between switches. Channels run over nodes in order, as NCCL connects them:
//
// - ring: It goes from node to node. Inside a node it follows the channel's order of GPUs. The last
//   GPU of the last node leads back to the first.
// - tree: Inside a node, the channel's order is a chain whose first GPU sends up. The double binary
//   tree over nodes joins the chains. In NCCL's balanced tree, the parent's first GPU receives from
//   one child and its second GPU from the other. Otherwise the first GPU receives from both.
// - NVLS: Each channel has a head in every node. One of the two trees over nodes joins the heads.
//
// If several switches are equally good for a route, the channel's number chooses among them.
#include "fabric.hpp"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <span>

#include "ddpsim/formats/input_error.hpp"
#include "double_tree.hpp"
#include "network_graph.hpp"
#include "nvls_heads.hpp"

namespace ddpsim {
namespace {

class FabricBuilder {
 public:
  FabricBuilder(const Topology& topology, std::span<const std::uint32_t> job,
                std::span<const NodePaths> paths)
      : topology_(topology), job_(job), paths_(paths) {
    lay_nodes();
    lay_network();
    degrade();
  }

  Fabric build() {
    const std::size_t found = topology_.node_types.front().channels.size();
    for (std::size_t c = 0; c < 2 * found; ++c) {
      if (c < found) {
        fabric_.rings.push_back(ring(c));
      } else {
        fabric_.rings.push_back(fabric_.rings[c - found]);
      }
      fabric_.trees.push_back(tree(c % found, c < found ? 0 : 1));
    }
    add_switched();
    return std::move(fabric_);
  }

 private:
  struct Node {
    const NodeType* type = nullptr;
    const NodePaths* paths = nullptr;
    LinkId first_link = 0;                  ///< first of its wires, in arc order
    LinkId first_port = 0;                  ///< first of its NICs: out, in
    std::vector<std::uint32_t> ports = {};  ///< by NIC: the switch it is connected to
  };

  void add_cable(LinkKind kind, Bandwidth bandwidth, const std::string& a, const std::string& b) {
    fabric_.links.push_back({kind, bandwidth, Duration(), a + " > " + b});
    fabric_.links.push_back({kind, bandwidth, Duration(), b + " > " + a});
  }

  LinkId next_link() const { return static_cast<LinkId>(fabric_.links.size()); }

  void lay_nodes() {
    for (std::size_t t = 0; t < topology_.node_types.size(); ++t) {
      const NodeType& type = topology_.node_types[t];
      for (int i = 0; i < type.count; ++i) {
        const std::string prefix = prefix_of(type, nodes_.size());
        nodes_.push_back({&type, &paths_[t], next_link(), 0});
        for (const Wire& wire : type.graph.wires) {
          add_cable(wire.kind, wire.nominal, prefix + type.graph.vertices[wire.a].name,
                    prefix + type.graph.vertices[wire.b].name);
        }
      }
    }
  }

  static std::string prefix_of(const NodeType& type, std::size_t node) {
    return fmt::format("{}{}/", type.hosts > 1 ? "domain" : "node", node);
  }

  /// Rates of the NICs of each host, because switches connect hosts.
  std::vector<std::vector<Bandwidth>> rates_by_host() const {
    std::vector<std::vector<Bandwidth>> rates;
    for (const Node& node : nodes_) {
      const auto nics = node.type->graph.all(VertexKind::nic);
      const std::size_t of_host = nics.size() / static_cast<std::size_t>(node.type->hosts);
      for (std::size_t i = 0; i < nics.size(); ++i) {
        if (i % of_host == 0) rates.emplace_back();
        rates.back().push_back(node.type->graph.vertices[nics[i]].port);
      }
    }
    return rates;
  }

  void lay_network() {
    if (nodes_.size() < 2) return;
    network_ = draw_network(topology_.switches, rates_by_host());
    auto ports = network_.ports.begin();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const NodeType& type = *nodes_[n].type;
      nodes_[n].first_port = next_link();
      for (int host = 0; host < type.hosts; ++host, ++ports)
        nodes_[n].ports.insert(nodes_[n].ports.end(), ports->begin(), ports->end());
      const auto nics = type.graph.all(VertexKind::nic);
      for (std::size_t i = 0; i < nics.size(); ++i) {
        const Vertex& nic = type.graph.vertices[nics[i]];
        add_cable(LinkKind::nic, nic.port, prefix_of(type, n) + nic.name,
                  network_.switches[nodes_[n].ports[i]]);
      }
    }
    first_trunk_ = next_link();
    for (const Trunk& trunk : network_.trunks) {
      add_cable(LinkKind::network, trunk.bandwidth, network_.switches[trunk.below],
                network_.switches[trunk.above]);
    }
    switch_routes_.emplace(network_);
  }

  void degrade() {
    if (topology_.degraded.empty()) return;
    std::map<std::string, LinkId> by_name;
    for (LinkId link = 0; link < fabric_.links.size(); ++link) {
      by_name.emplace(fabric_.links[link].name, link);
    }
    for (const DegradedLink& slow : topology_.degraded) {
      const std::size_t both = slow.link.find(" - ");
      std::vector<std::string> names = {slow.link};
      if (both != std::string::npos) {
        const std::string a = slow.link.substr(0, both);
        const std::string b = slow.link.substr(both + 3);
        names = {a + " > " + b, b + " > " + a};
      }
      for (const std::string& name : names) {
        const auto link = by_name.find(name);
        if (link == by_name.end()) unknown_link(slow.link);
        fabric_.links[link->second].bandwidth = slow.bandwidth;
      }
    }
  }

  [[noreturn]] void unknown_link(const std::string& name) const;

  /// `place` is the position of the node in the job.
  std::uint32_t rank_of(std::size_t place, std::uint32_t gpu) const {
    return static_cast<std::uint32_t>(place) *
               static_cast<std::uint32_t>(topology_.cluster.gpus_per_node) +
           gpu;
  }

  void add_path(Route& route, const Node& node, const std::vector<ArcId>& arcs) {
    for (const ArcId arc : arcs) fabric_.route_links.push_back(node.first_link + arc);
    route.count += static_cast<std::uint32_t>(arcs.size());
  }

  Route begin_route() const { return {static_cast<std::uint32_t>(fabric_.route_links.size()), 0}; }

  Route inside(std::size_t node, std::uint32_t from, std::uint32_t to) {
    Route route = begin_route();
    if (from != to) add_path(route, nodes_[node], nodes_[node].paths->between(from, to)->arcs);
    return route;
  }

  struct Port {
    std::size_t node = 0;
    std::uint32_t gpu = 0;
    std::uint32_t nic = 0;
  };

  Route across(Port from, Port to, std::size_t channel) {
    Route route = begin_route();
    const auto add = [&](LinkId link) {
      fabric_.route_links.push_back(link);
      ++route.count;
    };
    add_path(route, nodes_[from.node], nodes_[from.node].paths->arcs_to_nic(from.gpu, from.nic));
    add(nodes_[from.node].first_port + 2 * from.nic);
    const std::uint32_t leave = nodes_[from.node].ports[from.nic];
    const std::uint32_t arrive = nodes_[to.node].ports[to.nic];
    for (const std::uint32_t arc :
         switch_routes_->route(leave, arrive, static_cast<std::uint32_t>(channel))) {
      add(first_trunk_ + arc);
    }
    add(nodes_[to.node].first_port + 2 * to.nic + 1);
    add_path(route, nodes_[to.node], nodes_[to.node].paths->arcs_from_nic(to.nic, to.gpu));
    return route;
  }

  RingChannel ring(std::size_t c) {
    RingChannel ring;
    for (std::size_t place = 0; place < job_.size(); ++place) {
      const std::size_t n = job_[place];
      const ChannelOrder& order = nodes_[n].type->channels[c];
      for (std::size_t i = 0; i < order.gpus.size(); ++i) {
        ring.ranks.push_back(rank_of(place, order.gpus[i]));
        if (i + 1 < order.gpus.size()) {
          ring.to_next.push_back(inside(n, order.gpus[i], order.gpus[i + 1]));
        } else if (job_.size() == 1) {
          ring.to_next.push_back(inside(n, order.gpus[i], order.gpus.front()));
        } else {
          const std::size_t next = job_[(place + 1) % job_.size()];
          const ChannelOrder& there = nodes_[next].type->channels[c];
          ring.to_next.push_back(across({n, order.gpus[i], *order.nic_out},
                                        {next, there.gpus.front(), *there.nic_in}, c));
        }
      }
    }
    return ring;
  }

  /// The port at which a tree's edge to child 0 or 1 reaches the node. The edge to the parent uses
  /// the port of child 0.
  Port tree_port(std::size_t node, std::size_t c, std::size_t child) const {
    const ChannelOrder& order = nodes_[node].type->channels[c];
    const bool second = child == 1 && order.gpus.size() > 1 && !topology_.cluster.tree_at_one_gpu &&
                        nodes_[node].paths->to_nic(order.gpus[1], *order.nic_in) != nullptr;
    return {node, order.gpus[second ? 1 : 0], *order.nic_in};
  }

  TreeChannel tree(std::size_t c, int which) {
    const auto nodes = static_cast<int>(job_.size());
    const std::size_t ranks = rank_of(job_.size(), 0);
    TreeChannel tree{std::vector<std::uint32_t>(ranks), std::vector<Route>(ranks),
                     std::vector<Route>(ranks)};
    for (std::size_t at = 0; at < job_.size(); ++at) {
      const std::size_t n = job_[at];
      const ChannelOrder& order = nodes_[n].type->channels[c];
      for (std::size_t i = 1; i < order.gpus.size(); ++i) {
        const std::uint32_t rank = rank_of(at, order.gpus[i]);
        tree.parent[rank] = rank_of(at, order.gpus[i - 1]);
        tree.up[rank] = inside(n, order.gpus[i], order.gpus[i - 1]);
        tree.down[rank] = inside(n, order.gpus[i - 1], order.gpus[i]);
      }
      const std::uint32_t head = rank_of(at, order.gpus.front());
      const TreePlace place = double_tree_place(which, static_cast<int>(at), nodes);
      if (!place.parent) {
        tree.parent[head] = head;
        continue;
      }
      const auto above = static_cast<std::size_t>(*place.parent);
      const TreePlace parent = double_tree_place(which, *place.parent, nodes);
      const bool first_child = parent.children[0] == static_cast<int>(at);
      const Port here = tree_port(n, c, 0);
      const Port there = tree_port(job_[above], c, first_child ? 0 : 1);
      tree.parent[head] = rank_of(above, there.gpu);
      tree.up[head] = across(here, there, c);
      tree.down[head] = across(there, here, c);
    }
    return tree;
  }

  void add_switched() {
    const int heads = topology_.cluster.nvls.channels;
    if (heads == 0) return;
    for (const NodePaths& of_type : paths_)
      heads_.push_back(switch_heads(of_type, topology_.cluster.nodes > 1, heads));
    for (std::size_t place = 0; place < job_.size(); ++place) {
      for (std::uint32_t gpu = 0; gpu < gpus_of(place); ++gpu) {
        const std::uint32_t other = gpu == 0 ? 1 : 0;
        fabric_.to_switch.push_back(one_link(job_[place], gpu, other, true));
        fabric_.from_switch.push_back(one_link(job_[place], other, gpu, false));
      }
    }
    const int trees = job_.size() > 1 ? 2 : 1;
    for (std::size_t head = 0; head < static_cast<std::size_t>(heads); ++head)
      for (int which = 0; which < trees; ++which) fabric_.switched.push_back(switched(head, which));
  }

  std::uint32_t gpus_of(std::size_t place) const { return nodes_[job_[place]].paths->gpus(); }

  /// The first or the last link between two GPUs of a node, which connects one of them to the
  /// switch.
  Route one_link(std::size_t node, std::uint32_t from, std::uint32_t to, bool first) {
    Route route = begin_route();
    const std::vector<ArcId>& arcs = nodes_[node].paths->between(from, to)->arcs;
    add_path(route, nodes_[node], {first ? arcs.front() : arcs.back()});
    return route;
  }

  /// GPU and NIC of a head of the node, by number.
  Port head_port(std::size_t node, std::size_t head) const {
    const auto type = static_cast<std::size_t>(nodes_[node].type - topology_.node_types.data());
    const SwitchHead& found = heads_[type][head];
    return {node, found.gpu, found.nic};
  }

  SwitchChannel switched(std::size_t head, int which) {
    SwitchChannel channel;
    const auto nodes = static_cast<int>(job_.size());
    for (std::size_t at = 0; at < job_.size(); ++at) {
      const Port here = head_port(job_[at], head);
      channel.heads.push_back(rank_of(at, here.gpu));
      const TreePlace place = double_tree_place(which, static_cast<int>(at), nodes);
      const auto above = static_cast<std::size_t>(place.parent.value_or(static_cast<int>(at)));
      const Port there = head_port(job_[above], head);
      channel.parent.push_back(static_cast<std::uint32_t>(above));
      channel.up.push_back(place.parent ? across(here, there, head) : begin_route());
      channel.down.push_back(place.parent ? across(there, here, head) : begin_route());
    }
    return channel;
  }

  const Topology& topology_;
  std::span<const std::uint32_t> job_;  ///< nodes, in the order of ranks
  std::span<const NodePaths> paths_;    ///< by type of node
  std::vector<Node> nodes_;
  NetworkGraph network_;
  std::optional<SwitchRoutes> switch_routes_;
  LinkId first_trunk_ = 0;
  std::vector<std::vector<SwitchHead>> heads_;  ///< by type of node
  Fabric fabric_;
};

void FabricBuilder::unknown_link(const std::string& name) const {
  const std::string example = fabric_.links.empty() ? "" : fabric_.links.front().name;
  throw InputError({topology_.cluster.name, "/degraded",
                    fmt::format("there is no link \"{}\"", name),
                    fmt::format("`ddpsim topo` names them; the first is \"{}\"", example)});
}

Fabric build(const Topology& topology, std::span<const std::uint32_t> nodes,
             std::span<const NodePaths> paths) {
  const int ranks = topology.cluster.ranks();
  if (ranks > kMostFabricRanks) {
    throw InputError(
        {topology.cluster.name, "",
         fmt::format("{} ranks are too many to lay out link by link", ranks),
         fmt::format("At most {}; --network analytic has no such limit", kMostFabricRanks)});
  }
  return FabricBuilder(topology, nodes, paths).build();
}

}  // namespace

Fabric build_fabric(const Topology& topology, std::span<const std::uint32_t> nodes) {
  return build(topology, nodes, paths_of(topology));
}

Fabric build_fabric(const Topology& topology, std::span<const NodePaths> paths) {
  std::vector<std::uint32_t> all(static_cast<std::size_t>(topology.cluster.nodes));
  std::iota(all.begin(), all.end(), 0U);
  return build(topology, all, paths);
}

Fabric build_fabric(const Topology& topology) {
  return build_fabric(topology, paths_of(topology));
}

Fabric build_fabric(const ClusterRequest& request) {
  return build_fabric(load_topology(request));
}

}  // namespace ddpsim
