// Writes what a CLUSTER argument describes as a ddpsim.cluster/1 file.
//
// A cluster file keeps its own fields, which the JSON library writes back key by key. Other
// arguments (a line, NCCL's XML, a matrix, words after a file) are written from their description.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "calibration_file.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "description.hpp"
#include "gloo_file.hpp"

namespace ddpsim {
namespace {

using Json = nlohmann::ordered_json;

std::string rate_text(Bandwidth rate) {
  return fmt::format("{}GBps", rate.gigabytes_per_second());
}

const char* word_for(CpuVendor cpu) {
  switch (cpu) {
    case CpuVendor::intel:
      return "intel";
    case CpuVendor::amd:
      return "amd";
    case CpuVendor::arm:
      return "arm";
    case CpuVendor::power:
      return "power";
    case CpuVendor::unknown:
      break;
  }
  return nullptr;
}

Json pcie_of(const InterconnectDescription& links) {
  Json out = {{"kind", "pcie"}, {"per_gpu", rate_text(links.per_gpu)}};
  if (links.gpus_per_root > 0) out["gpus_per_root"] = links.gpus_per_root;
  if (!links.peers) return out;
  out["peer_to_peer"] = *links.peers != PeerAccess::host;
  if (*links.peers == PeerAccess::sockets) out["across_sockets"] = true;
  return out;
}

Json interconnect_of(const InterconnectDescription& links, GpuVendor vendor) {
  switch (links.kind) {
    case IntraKind::none:
      return {{"kind", "none"}};
    case IntraKind::nvswitch:
      return {{"kind", "nvswitch"}, {"per_gpu", rate_text(links.per_gpu)}};
    case IntraKind::pcie:
      return pcie_of(links);
    case IntraKind::nvlink:
      break;
  }
  return {{"kind", kind_word(links.kind, vendor)},
          {"links_per_gpu", links.links_per_gpu},
          {"per_link", rate_text(links.per_link)},
          {"layout", word_for(links.layout)}};
}

Json wiring_of(const NodeGraph& graph, GpuVendor vendor) {
  Json vertices = Json::array();
  for (const Vertex& vertex : graph.vertices) {
    Json entry = {{"name", vertex.name}, {"kind", kind_word(vertex.kind)}};
    if (vertex.port > Bandwidth()) entry["rate"] = rate_text(vertex.port);
    vertices.push_back(std::move(entry));
  }
  Json links = Json::array();
  for (const Wire& wire : graph.wires) {
    Json entry = {{"between", {graph.vertices[wire.a].name, graph.vertices[wire.b].name}}};
    if (wire.kind == LinkKind::nvlink) {
      entry["kind"] = kind_word(IntraKind::nvlink, vendor);
      entry["links"] = wire.lanes;
      entry["per_link"] = rate_text(wire.nominal / wire.lanes);
    } else {
      entry["kind"] = wire.kind == LinkKind::socket ? "socket" : "pcie";
      entry["rate"] = rate_text(wire.nominal);
      if (wire.kind == LinkKind::socket && wire.nccl < wire.nominal)
        entry["nccl_rate"] = rate_text(wire.nccl);
    }
    links.push_back(std::move(entry));
  }
  return {{"vertices", std::move(vertices)}, {"links", std::move(links)}};
}

Json node_of(const NodeDescription& node) {
  Json out;
  if (node.wiring) {
    out = {{"gpu", node.gpu.stated()}};
  } else {
    out = {{"gpus", node.gpus_in_layout}, {"gpu", node.gpu.stated()}};
  }
  if (const char* cpu = word_for(node.cpu)) out["cpu"] = cpu;
  if (node.wiring) {
    out["wiring"] = wiring_of(*node.wiring, node.gpu.vendor);
  } else {
    out["interconnect"] = interconnect_of(node.interconnect, node.gpu.vendor);
  }
  return out;
}

Json network_of(const ClusterDescription& cluster) {
  const NodeDescription& node = cluster.types.front();
  Json out = {{"kind", kind_word(cluster.network)}};
  if (node.nics > 0) {
    out["nics_per_node"] = node.nics;
    out["per_nic"] = rate_text(node.per_nic);
  }
  if (cluster.network.latency)
    out["latency"] = fmt::format("{}us", cluster.network.latency->microseconds());
  if (cluster.network.connection) out["connection"] = rate_text(*cluster.network.connection);
  if (cluster.network.oversubscription > 1)
    out["oversubscription"] = cluster.network.oversubscription;
  if (cluster.gpudirect_stated || !cluster.network.gpudirect)
    out["gpudirect"] = cluster.network.gpudirect;
  if (cluster.network.collnet) out["collnet"] = true;
  return out;
}

/// Leaves or rails, as a line can state them without a file.
Json switches_of(const SwitchPlan& plan) {
  Json out = {{"kind", plan.kind == SwitchPlan::Kind::rail ? "rail" : "leaf-spine"},
              {"nodes_per_leaf", plan.nodes_per_leaf},
              {"spines", plan.spines}};
  if (plan.nodes_per_pod > 0) {
    out["nodes_per_pod"] = plan.nodes_per_pod;
    out["pod_oversubscription"] = plan.pod_oversubscription;
  }
  if (plan.placement)
    out["placement"] = *plan.placement == SwitchPlan::Placement::ordered ? "ordered" : "scattered";
  return out;
}

/// For lines and single nodes, which have no types of nodes, degraded links or prices.
Json json_of(const ClusterDescription& cluster) {
  Json out = {{"schema", "ddpsim.cluster/1"}, {"name", cluster.name}};
  if (!cluster.summary.empty()) out["summary"] = cluster.summary;
  out["nodes"] = cluster.nodes();
  if (cluster.nodes_per_domain > 1) out["nodes_per_domain"] = cluster.nodes_per_domain;
  out["node"] = node_of(cluster.types.front());
  if (cluster.network.kind != NetworkKind::none) out["network"] = network_of(cluster);
  if (cluster.switches && cluster.switches->kind != SwitchPlan::Kind::one_switch)
    out["switches"] = switches_of(*cluster.switches);
  if (cluster.stated)
    out["nccl"] = {{"search_channels", cluster.stated->channels},
                   {"per_channel", rate_text(cluster.stated->per_channel)}};
  return out;
}

/// The description of CLUSTER without this section.
Json described(const std::string& text, const char* without) {
  std::string source;
  const ClusterDescription cluster =
      describe_request({.text = text, .nodes = {}, .gpus_per_node = {}}, &source);
  if (!source.empty()) {
    Json json = Json::parse(source);
    if (cluster.types.size() == 1) {
      const bool several = json.value("nodes", 1) > 1;
      if (several != (cluster.nodes() > 1)) json.erase("nccl");
      if (json.value("nodes", 1) != cluster.nodes()) json["nodes"] = cluster.nodes();
    }
    json.erase(without);
    if (!cluster.calibration) json.erase("calibration");  // for "p4d:spec"
    if (!cluster.gloo) json.erase("gloo");
    return json;
  }
  const bool listed = cluster.switches && cluster.switches->kind == SwitchPlan::Kind::stated;
  const bool plain = cluster.types.size() == 1 && cluster.degraded.empty() && !listed;
  if (!plain)
    throw InputError({"command line", "--cluster",
                      "a cluster with a separate list of switches cannot be written",
                      "Write them into a cluster file and name that"});
  return json_of(cluster);
}

/// Appends the section, which is a document of its own, as the last field of the cluster.
std::string with_section(const Json& cluster, JsonWriter section) {
  section.end_object();
  const std::string own = with_escapes(cluster.dump(2));
  return own.substr(0, own.rfind("\n}")) + ',' + std::move(section).finish().substr(1);
}

}  // namespace

std::string calibrated_cluster_file(const std::string& text, const Calibration& calibration) {
  JsonWriter section;
  section.begin_object();
  section.key("calibration");
  write_calibration(section, calibration);
  return with_section(described(text, "calibration"), std::move(section));
}

std::string gloo_calibrated_cluster_file(const std::string& text,
                                         const GlooCalibration& calibration) {
  JsonWriter section;
  section.begin_object();
  section.key("gloo");
  write_gloo(section, calibration);
  return with_section(described(text, "gloo"), std::move(section));
}

}  // namespace ddpsim
