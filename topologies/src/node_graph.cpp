// A cluster states how GPUs reach each other and how many NICs there are. The rest of a node is
// drawn like most servers, because channels to and from the network pass through it:
//
// - nvswitch, nvlink: Every two GPUs share a PCIe switch. NICs are spread evenly over these
//   switches. Each of two CPUs has half of the switches.
// - GH200: Every GPU has its own CPU.
// - GB200: NVLink-C2C replaces the GPUs' slots.
// - pcie: All GPUs and NICs are on one switch, and the stated rate holds between any two. If peers
//   do not reach each other, or root ports are stated, each root port is on one CPU. GPUs that
//   share a port have a switch below it.
//
// Each host of an NVLink domain is drawn like this, with all GPUs on one NVSwitch. Nothing else
// joins two hosts.
//
// PCIe slots have the generation of the GPU unless a rate is stated. All NVSwitches are drawn as
// one, because their planes are used evenly.
#include "node_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ddpsim/topologies/pcie_rate.hpp"
#include "link_layout.hpp"
#include "nccl_rates.hpp"

namespace ddpsim {

std::vector<std::uint32_t> NodeGraph::all(VertexKind kind) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t v = 0; v < vertices.size(); ++v) {
    if (vertices[v].kind == kind) found.push_back(v);
  }
  return found;
}

double cpu_link_rate(CpuVendor vendor) {
  switch (vendor) {
    case CpuVendor::amd:
      return 16;
    case CpuVendor::power:
      return 32;
    case CpuVendor::arm:
      return 6;
    case CpuVendor::intel:
    case CpuVendor::unknown:
      break;
  }
  return 10;
}

double cpu_link_nominal(double nccl) {
  constexpr double kTwoQpiLinks = 38.4;
  return std::max(nccl, kTwoQpiLinks);
}

namespace {

class Wiring {
 public:
  explicit Wiring(const NodeDescription& node) : node_(node) {}

  /// A node whose other wires are known.
  Wiring(const NodeDescription& node, NodeGraph graph) : node_(node), graph_(std::move(graph)) {}

  NodeGraph with_nvlinks() {
    join_by_nvlink();
    return std::move(graph_);
  }

  NodeGraph draw() {
    const int gpus = node_.gpus_in_layout;
    const int of_host = gpus / node_.hosts;
    for (int i = 0; i < gpus; ++i) {
      host_ = i / of_host;
      add(VertexKind::gpu, "gpu", i % of_host);
    }
    join_by_nvlink();
    for (host_ = 0; host_ < node_.hosts; ++host_) hang_on_pcie();
    return std::move(graph_);
  }

 private:
  std::uint32_t add(VertexKind kind, const char* word, int index) {
    const bool of_domain = node_.hosts == 1 || kind == VertexKind::nvswitch;
    graph_.vertices.push_back({kind,
                               of_domain ? fmt::format("{}{}", word, index)
                                         : fmt::format("node{}-{}{}", host_, word, index),
                               {}});
    return static_cast<std::uint32_t>(graph_.vertices.size() - 1);
  }

  void join(std::uint32_t a, std::uint32_t b, LinkKind kind, double nominal, double nccl,
            int lanes = 0) {
    graph_.wires.push_back({a, b, kind, lanes, Bandwidth::gigabytes_per_second(nominal),
                            Bandwidth::gigabytes_per_second(nccl)});
  }

  void join_by_nvlink() {
    const InterconnectDescription& links = node_.interconnect;
    const NvlinkRate rate = nvlink_rate(node_.gpu);
    const auto gpus = static_cast<std::uint32_t>(node_.gpus_in_layout);
    if (links.kind == IntraKind::nvswitch) {
      const double nominal = links.per_gpu.gigabytes_per_second();
      const auto hub = add(VertexKind::nvswitch, "nvswitch", 0);
      const auto lanes = static_cast<int>(std::lround(std::min(nominal / rate.nominal, 1e6)));
      for (std::uint32_t i = 0; i < gpus; ++i) {
        join(i, hub, LinkKind::nvlink, nominal, nominal * rate.nccl / rate.nominal, lanes);
      }
    } else if (links.kind == IntraKind::nvlink) {
      const double nominal = links.per_link.gigabytes_per_second();
      for (std::uint32_t a = 0; a < gpus; ++a) {
        for (std::uint32_t b = a + 1; b < gpus; ++b) {
          const int lanes = links_between(links, node_.gpus_in_layout, a, b);
          if (lanes == 0) continue;
          join(a, b, LinkKind::nvlink, lanes * nominal, lanes * nominal * rate.nccl / rate.nominal,
               lanes);
        }
      }
    }
  }

  /// Connects the GPUs and NICs of `host_` to PCIe.
  void hang_on_pcie() {
    const int gpus = node_.gpus_in_layout / node_.hosts;
    const int nics = node_.nics / node_.hosts;
    const bool one_switch = node_.interconnect.kind == IntraKind::pcie;
    const bool grace = node_.gpu.name == "GH200";
    const int generation = node_.gpu.compute_capability;
    const double nominal = one_switch ? node_.interconnect.per_gpu.gigabytes_per_second()
                                      : pcie_nominal_of_generation(generation);
    const double nccl = one_switch ? pcie_rate(nominal) : pcie_rate_of_generation(generation);
    // Two Blackwell GPUs share one Grace CPU over NVLink-C2C. NICs have PCIe slots.
    const bool c2c = !one_switch && node_.gpu.name.starts_with("GB");
    constexpr double kNvlinkC2c = 450;
    const bool stated = node_.interconnect.gpus_per_root > 0;
    const bool roots = one_switch && (stated || peers_of(node_) == PeerAccess::host);
    const int below = roots ? gpus_per_root(node_) : one_switch ? gpus : 2;
    const int switches = grace ? gpus : (gpus + below - 1) / below;
    const int cpus = grace ? gpus : switches > 1 && !one_switch ? 2 : 1;
    std::vector<std::uint32_t> sockets;
    for (int i = 0; i < cpus; ++i) sockets.push_back(add(VertexKind::cpu, "cpu", i));
    const double between = cpu_link_rate(node_.cpu);
    for (std::size_t a = 0; a < sockets.size() && cpus <= kMostCpusJoined; ++a) {
      for (std::size_t b = a + 1; b < sockets.size(); ++b) {
        join(sockets[a], sockets[b], LinkKind::socket, cpu_link_nominal(between), between);
      }
    }
    std::vector<std::uint32_t> bridges;
    const bool bare = roots && below == 1;
    if (bare) bridges = sockets;
    for (int i = 0; i < switches && !bare; ++i) {
      bridges.push_back(add(VertexKind::pcie_switch, "pcie", i));
      join(bridges.back(), sockets[static_cast<std::size_t>(i * cpus / switches)], LinkKind::pcie,
           nominal, nccl);
    }
    for (int i = 0; i < gpus; ++i) {
      const int at = bare ? 0 : grace ? i : i / below;
      join(static_cast<std::uint32_t>(host_ * gpus + i), bridges[static_cast<std::size_t>(at)],
           LinkKind::pcie, c2c ? kNvlinkC2c : nominal, c2c ? kNvlinkC2c : nccl);
    }
    for (int i = 0; i < nics; ++i) {
      const auto nic = add(VertexKind::nic, "nic", i);
      graph_.vertices[nic].port = node_.per_nic;
      const int at = bare ? 0 : i * switches / nics;
      join(nic, bridges[static_cast<std::size_t>(at)], LinkKind::pcie, nominal, nccl);
    }
  }

  static constexpr int kMostCpusJoined = 64;
  const NodeDescription& node_;
  NodeGraph graph_;
  int host_ = 0;  ///< the host whose vertices are added
};

}  // namespace

NodeGraph wire_node(const NodeDescription& node) {
  return node.wiring ? *node.wiring : Wiring(node).draw();
}

NodeGraph with_nvlinks(NodeGraph graph, const NodeDescription& node) {
  return Wiring(node, std::move(graph)).with_nvlinks();
}

void set_gpu_slots(NodeGraph& graph, Bandwidth rate) {
  for (Wire& wire : graph.wires) {
    const bool slot =
        wire.kind == LinkKind::pcie && (graph.vertices[wire.a].kind == VertexKind::gpu ||
                                        graph.vertices[wire.b].kind == VertexKind::gpu);
    if (!slot) continue;
    wire.nominal = rate;
    wire.nccl = Bandwidth::gigabytes_per_second(pcie_rate(rate.gigabytes_per_second()));
  }
}

bool set_nics(NodeGraph& graph, int count, Bandwidth rate) {
  const auto nics = graph.all(VertexKind::nic);
  if (!nics.empty()) {
    if (count != 0 && static_cast<std::size_t>(count) != nics.size()) return false;
    const auto unstated = [&](std::uint32_t nic) {
      return !(graph.vertices[nic].port > Bandwidth());
    };
    const bool complete = std::ranges::none_of(nics, unstated);
    for (const std::uint32_t nic : nics)
      if (complete || unstated(nic)) graph.vertices[nic].port = rate;
    return true;
  }
  auto places = graph.all(VertexKind::pcie_switch);
  if (places.empty()) places = graph.all(VertexKind::cpu);
  for (int i = 0; i < count && !places.empty(); ++i) {
    const std::size_t at =
        static_cast<std::size_t>(i) * places.size() / static_cast<std::size_t>(count);
    // The slot gets the rate of the other slots there.
    const auto beside = std::find_if(graph.wires.begin(), graph.wires.end(), [&](const Wire& wire) {
      return wire.kind == LinkKind::pcie && (wire.a == places[at] || wire.b == places[at]);
    });
    if (beside == graph.wires.end()) return false;
    Wire slot = *beside;
    graph.vertices.push_back({VertexKind::nic, fmt::format("nic{}", i), rate});
    slot.a = static_cast<std::uint32_t>(graph.vertices.size() - 1);
    slot.b = places[at];
    graph.wires.push_back(slot);
  }
  return true;
}

NodeGraph keep_gpus(const NodeGraph& graph, int kept, int hosts) {
  const int of_host = static_cast<int>(graph.all(VertexKind::gpu).size()) / hosts;
  NodeGraph out;
  std::vector<std::optional<std::uint32_t>> renumbered;
  int gpus = 0;
  for (const Vertex& vertex : graph.vertices) {
    const bool drop = vertex.kind == VertexKind::gpu && gpus++ % of_host >= kept / hosts;
    renumbered.push_back(drop ? std::nullopt
                              : std::optional(static_cast<std::uint32_t>(out.vertices.size())));
    if (!drop) out.vertices.push_back(vertex);
  }
  for (Wire wire : graph.wires) {
    if (!renumbered[wire.a] || !renumbered[wire.b]) continue;
    wire.a = *renumbered[wire.a];
    wire.b = *renumbered[wire.b];
    out.wires.push_back(wire);
  }
  return out;
}

}  // namespace ddpsim
