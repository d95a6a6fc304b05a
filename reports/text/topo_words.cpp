#include "topo_words.hpp"

#include <fmt/format.h>

#include "node_drawing.hpp"
#include "text_layout.hpp"

namespace ddpsim {

std::string_view kind_word(LinkKind kind, GpuVendor vendor) {
  switch (kind) {
    case LinkKind::nvlink:
      return kind_word(IntraKind::nvlink, vendor);
    case LinkKind::pcie:
      return "pcie";
    case LinkKind::socket:
      return "socket";
    case LinkKind::nic:
      return "nic";
    case LinkKind::network:
      return "network";
  }
  return "";
}

std::string kind_words(LinkKind kind, const Cluster& cluster) {
  switch (kind) {
    case LinkKind::nvlink:
      return std::string(direct_links(cluster.gpu.vendor));
    case LinkKind::pcie:
      return "PCIe";
    case LinkKind::socket:
      return "the link between CPUs";
    case LinkKind::nic:
      return cluster.network.nics_per_node == 1 ? "the NIC" : "the NICs";
    case LinkKind::network:
      return "the links between switches";
  }
  return "";
}

std::string_view kind_word(SwitchPlan::Kind kind) {
  switch (kind) {
    case SwitchPlan::Kind::one_switch:
      return "one-switch";
    case SwitchPlan::Kind::leaf_spine:
      return "leaf-spine";
    case SwitchPlan::Kind::rail:
      return "rail";
    case SwitchPlan::Kind::stated:
      return "list";
  }
  return "";
}

std::string joined_words(const Cluster& cluster) {
  const std::string rate = rate_text(cluster.intra.per_gpu);
  const auto links = static_cast<std::uint64_t>(cluster.intra.links_per_gpu);
  switch (cluster.intra.kind) {
    case IntraKind::none:
      return "nothing";
    case IntraKind::nvswitch:
      return fmt::format(
          "NVSwitch{}, {} per GPU ({})",
          cluster.hosts_per_node > 1
              ? fmt::format("es of one NVLink domain of {} nodes", cluster.hosts_per_node)
              : "",
          rate, counted(links, "NVLink"));
    case IntraKind::nvlink:
      return fmt::format("{}, {} per GPU that rings can use ({})", direct_links(cluster.gpu.vendor),
                         rate, counted(links, "link"));
    case IntraKind::pcie:
      return fmt::format(
          "PCIe, {} per GPU, {}", rate,
          cluster.intra.peers == PeerAccess::host
              ? fmt::format("through host memory, each GPU by {}", rate_text(cluster.intra.to_host))
          : cluster.intra.peers == PeerAccess::one_root
              ? "peer to peer under one root"
              : "peer to peer under each root, through host memory between roots");
  }
  return "";
}

std::string network_words(const Topology& topology) {
  const Network& network = topology.cluster.network;
  const int hosts = topology.cluster.hosts_per_node;
  std::string text = fmt::format("{} × {} {} per node", network.nics_per_node / hosts,
                                 rate_text(network.per_nic), kind_word(network));
  if (network.kind == NetworkKind::roce) text += " (modelled as InfiniBand)";
  const SwitchPlan& plan = topology.switches;
  switch (plan.kind) {
    case SwitchPlan::Kind::one_switch:
      text += ", one switch";
      break;
    case SwitchPlan::Kind::leaf_spine:
      text += fmt::format(", {} per leaf, {}",
                          counted(static_cast<std::uint64_t>(plan.nodes_per_leaf), "node"),
                          counted(static_cast<std::uint64_t>(plan.spines), "spine"));
      if (plan.nodes_per_pod > 0)
        text += fmt::format(" per pod of {}",
                            counted(static_cast<std::uint64_t>(plan.nodes_per_pod), "node"));
      break;
    case SwitchPlan::Kind::rail:
      text += fmt::format(", a switch per rail and pod of {}, {}",
                          counted(static_cast<std::uint64_t>(plan.nodes_per_leaf), "node"),
                          counted(static_cast<std::uint64_t>(plan.spines), "spine"));
      break;
    case SwitchPlan::Kind::stated:
      text += fmt::format(", {} switches as listed", plan.switches.size());
      break;
  }
  if (plan.oversubscription > 1) {
    text += fmt::format(", oversubscribed {:.4g}:1", plan.oversubscription);
  }
  if (plan.nodes_per_pod > 0 && plan.pod_oversubscription > 1)
    text += fmt::format(", pods {:.4g}:1", plan.pod_oversubscription);
  if (plan.placement == SwitchPlan::Placement::scattered)
    text += ", ranks scattered over the leaves";
  if (!network.gpudirect) text += ", no GPUDirect";
  return text;
}

}  // namespace ddpsim
