#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "ddpsim/reports/topo_report.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/topologies/plausible.hpp"
#include "node_drawing.hpp"
#include "text_layout.hpp"
#include "topo_words.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kWidestMatrix = 24;  // devices
constexpr int kMostNodesDrawn = 32;
constexpr std::size_t kMostOrders = 16;
constexpr std::size_t kLabel = 12;

std::string labelled(std::string_view label, const std::string& text, const TerminalStyle& style) {
  return fmt::format("  {}{}{}", dim(label, style), std::string(kLabel - label.size(), ' '),
                     wrapped(text, style.width - static_cast<int>(kLabel) - 2, kLabel + 2));
}

std::string heading(std::string_view text, const TerminalStyle& style) {
  return '\n' + bold(text, style) + '\n';
}

std::string verdict(const TopoReport& report) {
  const Cluster& cluster = report.topology.cluster;
  std::string text = fmt::format("{}: {}", printable(cluster.name),
                                 counted(static_cast<std::uint64_t>(cluster.ranks()), "GPU"));
  if (cluster.hosts() > 1) text += fmt::format(" in {} nodes", cluster.hosts());
  if (cluster.hosts_per_node > 1)
    text += cluster.nodes == 1 ? std::string(" of one NVLink domain")
                               : fmt::format(" of {} NVLink domains", cluster.nodes);
  if (report.bottleneck) {
    text += fmt::format(", bound by {} at {} of bus bandwidth",
                        kind_words(report.bottleneck->kind, cluster),
                        rate_text(report.bottleneck->bus_bandwidth));
  }
  return text + '.';
}

std::string price_with_source(const Price& price) {
  const char* per = price.per == Price::Per::node       ? "per node"
                    : price.per == Price::Per::gpu_hour ? "per GPU-hour"
                                                        : "per node-hour";
  return fmt::format("{} USD {} ({}, {}; {})", significant(price.usd, 4), per,
                     printable(price.terms), printable(price.as_of), printable(price.source));
}

std::string units_of(const GpuModel& gpu) {
  if (gpu.vendor == GpuVendor::amd) return fmt::format("{} CUs", gpu.sms);
  return fmt::format("sm_{}, {} SMs", gpu.compute_capability, gpu.sms);
}

/// "32 GiB at 900 GB/s"
std::string memory_of(const GpuModel& gpu) {
  const std::string rate = rate_text(gpu.memory_bandwidth);
  return gpu.memory > Bytes() ? fmt::format("{} GiB at {}", gpu.memory.count() >> 30, rate) : rate;
}

std::string summary(const Topology& topology, const TerminalStyle& style) {
  const Cluster& cluster = topology.cluster;
  std::string text;
  for (const NodeType& type : topology.node_types) {
    const std::string who =
        topology.node_types.size() > 1
            ? fmt::format("{} ({}): ", printable(type.name),
                          counted(static_cast<std::uint64_t>(type.count), "node"))
            : "";
    text += labelled("GPUs",
                     fmt::format("{}{} × {} per node, {}, memory {}", who, cluster.gpus_per_host(),
                                 type.gpu.product(), units_of(type.gpu), memory_of(type.gpu)),
                     style);
  }
  if (cluster.gpus_per_node > 1) text += labelled("joined by", joined_words(cluster), style);
  if (cluster.nodes > 1) text += labelled("network", network_words(topology), style);
  for (const NodeType& type : topology.node_types)
    if (const std::string assumed = assumed_of_variant(type.gpu); !assumed.empty())
      text += labelled("assumed", assumed, style);
  if (const std::string assumed = assumed_of_amd(cluster); !assumed.empty())
    text += labelled("assumed", assumed, style);
  if (const std::string_view assumed = assumed_of_connections(cluster); !assumed.empty())
    text +=
        labelled("assumed", fmt::format("{}; the bound above is the NICs' alone", assumed), style);
  if (const std::string_view assumed = assumed_of_leaves(cluster); !assumed.empty())
    text += labelled("assumed", std::string(assumed), style);
  for (const std::string& assumed :
       {assumed_of_peers(cluster), assumed_of_roots(cluster), assumed_of_gpudirect(cluster)})
    if (!assumed.empty()) text += labelled("assumed", assumed, style);
  for (const std::string& figure : implausible_figures(cluster))
    text += labelled("doubtful", figure, style);
  text += labelled("rates", "nominal, one direction", style);
  for (const Price& price : cluster.prices)
    text += labelled("price", price_with_source(price), style);
  text += labelled("evidence",
                   cluster.calibration ? calibration_of(cluster)
                   : cluster.verified
                       ? "checked against an nccl-tests log of this size"
                       : "not calibrated at this size: link speeds come from data sheets",
                   style);
  for (const std::string& source : cluster.sources) {
    text += labelled("source", printable(source), style);
  }
  return text;
}

/// The rows and columns of the first node's GPUs and NICs, out of the matrix of its NVLink domain.
ConnectionMatrix of_first_host(const ConnectionMatrix& domain, const NodeType& type) {
  const std::size_t gpus = type.graph.all(VertexKind::gpu).size();
  const auto hosts = static_cast<std::size_t>(type.hosts);
  std::vector<std::size_t> kept;
  for (std::size_t device = 0; device < domain.devices.size(); ++device) {
    const bool is_gpu = device < gpus;
    const std::size_t all = is_gpu ? gpus : domain.devices.size() - gpus;
    if ((is_gpu ? device : device - gpus) < all / hosts) kept.push_back(device);
  }
  ConnectionMatrix out;
  for (const std::size_t row : kept) {
    out.devices.push_back(domain.devices[row]);
    auto& cells = out.cells.emplace_back();
    for (const std::size_t column : kept) cells.push_back(domain.cells[row][column]);
  }
  return out;
}

std::string matrix(const NodeType& type, const TerminalStyle& style) {
  const ConnectionMatrix matrix =
      of_first_host(connection_matrix(type.graph, type.gpu.vendor), type);
  if (matrix.devices.size() > kWidestMatrix) {
    return fmt::format("  {} devices are too many to print; --json has them all\n",
                       matrix.devices.size());
  }
  std::vector<Column> columns = {{""}};
  for (const std::string& device : matrix.devices) columns.push_back({device});
  Table table(std::move(columns));
  for (std::size_t row = 0; row < matrix.devices.size(); ++row) {
    std::vector<std::string> cells = {matrix.devices[row]};
    for (const std::string& cell : matrix.cells[row]) cells.push_back(cell);
    table.add_row(std::move(cells));
  }
  return table.text({.width = std::max(style.width, 400), .colour = style.colour});
}

/// "0 2 1 ". With many GPUs, consecutive numbers are printed as "4..71 ".
std::string gpus_text(const std::vector<std::uint32_t>& gpus) {
  constexpr std::size_t kFew = 16;
  constexpr std::size_t kRun = 4;
  std::string text;
  for (std::size_t i = 0; i < gpus.size();) {
    std::size_t next = i + 1;
    while (next < gpus.size() && gpus[next] == gpus[next - 1] + 1) ++next;
    if (gpus.size() <= kFew || next - i < kRun) next = i + 1;
    text += next == i + 1 ? fmt::format("{} ", gpus[i])
                          : fmt::format("{}..{} ", gpus[i], gpus[next - 1]);
    i = next;
  }
  return text;
}

std::string order_text(const ChannelOrder& order, const NodeGraph& graph) {
  const auto nics = graph.all(VertexKind::nic);
  const auto nic = [&](std::uint32_t index) { return printable(graph.vertices[nics[index]].name); };
  std::string text;
  if (order.nic_in) text += nic(*order.nic_in) + " > ";
  text += gpus_text(order.gpus);
  if (order.nic_out) return text + "> " + nic(*order.nic_out);
  return order.gpus.size() > 1 ? fmt::format("{}{}", text, order.gpus.front()) : text;
}

/// Each distinct order once, with the number of channels that use it.
std::string orders(const NodeType& type) {
  std::vector<std::pair<std::string, int>> distinct;
  for (const ChannelOrder& channel : type.channels) {
    const std::string text = order_text(channel, type.graph);
    const auto known = std::find_if(distinct.begin(), distinct.end(),
                                    [&](const auto& entry) { return entry.first == text; });
    if (known == distinct.end()) {
      distinct.emplace_back(text, 1);
    } else {
      ++known->second;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(distinct.size(), kMostOrders); ++i) {
    out += fmt::format("  {:>2} ×  {}\n", distinct[i].second, distinct[i].first);
  }
  if (distinct.size() > kMostOrders) {
    out += fmt::format("  and {} further orders\n", distinct.size() - kMostOrders);
  }
  return out;
}

/// "0-(4-(2-(1,3),6-(5,7)))"
std::string subtree(const NodeTree& tree, int root) {
  std::string children;
  for (int node = 0; node < static_cast<int>(tree.size()); ++node) {
    if (tree[static_cast<std::size_t>(node)] != root) continue;
    children += (children.empty() ? "" : ",") + subtree(tree, node);
  }
  return children.empty() ? std::to_string(root) : fmt::format("{}-({})", root, children);
}

std::string channels(const Topology& topology, const TerminalStyle& style) {
  const Cluster& cluster = topology.cluster;
  if (cluster.ranks() == 1) return "  one GPU: nothing to send\n";
  std::string text =
      labelled("rings",
               fmt::format("{} of {} (NCCL's figure), {} bus bandwidth; NCCL connects each twice",
                           cluster.ring.channels, rate_text(cluster.ring.inter),
                           rate_text(cluster.ring.inter * cluster.ring.channels)),
               style);
  const std::string_view unit = cluster.hosts_per_node > 1 ? "domain" : "node";
  const std::string tree_rate =
      cluster.tree.intra == cluster.tree.inter
          ? rate_text(cluster.tree.intra)
          : fmt::format("{} inside a {}, {} between {}s", rate_text(cluster.tree.intra), unit,
                        rate_text(cluster.tree.inter), unit);
  text += labelled(
      "trees",
      fmt::format("{} of {}; the same orders as rings, each as a chain below its first GPU",
                  cluster.tree.channels, tree_rate),
      style);
  if (cluster.nvls_channels > 0) {
    text += labelled(
        "NVLS", fmt::format("{} channels reduce in the NVSwitch", cluster.nvls_channels), style);
  }
  if (cluster.network.collnet)
    text += labelled("CollNet", "network switches reduce (SHARP)", style);
  for (const NodeType& type : topology.node_types) {
    if (topology.node_types.size() > 1) text += fmt::format("  {}\n", printable(type.name));
    text += orders(type);
  }
  if (cluster.nodes > 1 && cluster.nodes <= kMostNodesDrawn) {
    for (const int which : {0, 1}) {
      const NodeTree tree = node_tree(which, cluster.nodes);
      const auto root = std::find(tree.begin(), tree.end(), std::nullopt) - tree.begin();
      text += labelled(which == 1                   ? "the other"
                       : cluster.hosts_per_node > 1 ? "one tree"
                                                    : "nodes, one",
                       subtree(tree, static_cast<int>(root)), style);
    }
  }
  return text;
}

std::string bottleneck_text(const TopoReport& report, const TerminalStyle& style) {
  const Cluster& cluster = report.topology.cluster;
  if (!report.bottleneck) {
    return cluster.ranks() == 1
               ? ""
               : heading("bottleneck", style) +
                     fmt::format("  {} ranks are too many to lay out link by link (at most {})\n",
                                 cluster.ranks(), kMostFabricRanks);
  }
  const Bottleneck& found = *report.bottleneck;
  std::string text = fmt::format(
      "A large ring all-reduce fills {} first: {} in one direction. It carries {:.3g} % of the "
      "channels' traffic, so bus bandwidth is at most {}, before protocol overhead.",
      printable(found.link), rate_text(found.bandwidth), found.crossings * 100,
      rate_text(found.bus_bandwidth));
  if (found.next_kind) {
    text += fmt::format(
        " A faster link helps up to {} times its rate; from {} of bus bandwidth on, the limit is "
        "{}.",
        significant(found.next_bus_bandwidth / found.bus_bandwidth, 3),
        rate_text(found.next_bus_bandwidth), kind_words(*found.next_kind, cluster));
  } else {
    text +=
        " Channels use no other kind of link, so a faster one speeds up the all-reduce in "
        "proportion.";
  }
  if (cluster.loads != nullptr)
    text += fmt::format(" NCCL's trees reach at most {}.",
                        rate_text(most_busbw(ChannelShape::tree, cluster)));
  return heading("bottleneck", style) + "  " + wrapped(text, style.width - 2, 2);
}

}  // namespace

std::string topo_text(const TopoReport& report, const TerminalStyle& style) {
  const Topology& topology = report.topology;
  std::string text = bold(verdict(report), style) + '\n';
  if (!topology.summary.empty())
    text += "  " + wrapped(printable(topology.summary), style.width - 2, 2);
  text += '\n' + summary(topology, style);
  for (const NodeType& type : topology.node_types) {
    const std::string who = topology.node_types.size() > 1 ? " of " + printable(type.name) : "";
    const bool alike = type.hosts > 1;
    text += heading(alike ? "matrix of node 0 (all are equal)" : "matrix" + who, style) +
            matrix(type, style);
    text += heading(alike ? "node 0 (all are equal)" : "node" + who, style);
    if (type.pcie_assumed)
      text += dim("  PCIe layout assumed, as in most such servers; a topology file would tell\n",
                  style);
    text += draw_node(type.graph, style, type.gpu.vendor, type.hosts);
  }
  text += heading("channels", style) + channels(topology, style);
  text += bottleneck_text(report, style);
  if (topology.cluster.degraded_links > 0)
    text +=
        fmt::format("\n  {} slower than its rate: every channel that uses it waits\n",
                    counted(static_cast<std::uint64_t>(topology.cluster.degraded_links), "link"));
  return text;
}

}  // namespace ddpsim
