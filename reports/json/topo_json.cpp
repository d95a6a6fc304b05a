#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/topo_report.hpp"
#include "ddpsim/topologies/plausible.hpp"
#include "topo_words.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

void write_rate(JsonWriter& json, std::string_view key, Bandwidth rate) {
  json.key(key).ratio(rate.gigabytes_per_second());
}

void write_prices(JsonWriter& json, const std::vector<Price>& prices) {
  json.key("prices").begin_array();
  for (const Price& price : prices) {
    json.begin_object(Layout::line);
    json.key("usd").number(price.usd);
    json.key("per").string(name_of(price.per));
    json.key("terms").string(price.terms);
    json.key("as_of").string(price.as_of);
    json.key("source").string(price.source);
    json.end_object();
  }
  json.end_array();
}

void write_cluster(JsonWriter& json, const Topology& topology) {
  const Cluster& cluster = topology.cluster;
  json.key("cluster").begin_object();
  json.key("name").string(cluster.name);
  json.key("summary").string(topology.summary);
  json.key("line").string_or_null(topology.line.value_or(""));
  json.key("nodes").integer(cluster.hosts());
  if (cluster.hosts_per_node > 1) json.key("nodes_per_domain").integer(cluster.hosts_per_node);
  json.key("gpus_per_node").integer(cluster.gpus_per_host());
  json.key("ranks").integer(cluster.ranks());
  json.key("gpu").string(cluster.gpu.name);
  json.key("gpu_variant").string(cluster.gpu.product());
  json.key("gpu_memory_bytes").integer(cluster.gpu.memory.count());
  json.key("intra").begin_object(Layout::line);
  json.key("kind").string(kind_word(cluster.intra.kind, cluster.gpu.vendor));
  write_rate(json, "per_gpu_gbps", cluster.intra.per_gpu);
  json.key("links_per_gpu").integer(cluster.intra.links_per_gpu);
  if (cluster.intra.kind == IntraKind::pcie)
    json.key("peers").string(kind_word(cluster.intra.peers));
  json.end_object();
  json.key("network").begin_object(Layout::line);
  json.key("kind").string(kind_word(cluster.network));
  json.key("nics_per_node").integer(cluster.network.nics_per_node / cluster.hosts_per_node);
  write_rate(json, "per_nic_gbps", cluster.network.per_nic);
  json.key("switches").string(kind_word(topology.switches.kind));
  json.key("oversubscription").number(cluster.network.oversubscription);
  json.key("gpudirect").boolean(cluster.network.gpudirect);
  json.key("collnet").boolean(cluster.network.collnet);
  json.end_object();
  json.key("degraded_links").integer(cluster.degraded_links);
  json.key("verified").boolean(cluster.verified);
  json.key("sources").strings(cluster.sources);
  write_prices(json, cluster.prices);
  json.end_object();
}

void write_order(JsonWriter& json, const ChannelOrder& order) {
  json.begin_object(Layout::line);
  json.key("gpus").indices({order.gpus.begin(), order.gpus.end()});
  if (order.nic_in) json.key("nic_in").count(*order.nic_in);
  if (order.nic_out) json.key("nic_out").count(*order.nic_out);
  json.end_object();
}

void write_node_type(JsonWriter& json, const NodeType& type) {
  json.begin_object();
  json.key("name").string(type.name);
  json.key("count").integer(type.count);
  json.key("gpu").string(type.gpu.name);
  json.key("gpu_variant").string(type.gpu.product());
  json.key("pcie_assumed").boolean(type.pcie_assumed);
  json.key("vertices").begin_array();
  for (const Vertex& vertex : type.graph.vertices) {
    json.begin_object(Layout::line);
    json.key("name").string(vertex.name);
    json.key("kind").string(kind_word(vertex.kind));
    if (vertex.kind == VertexKind::nic) write_rate(json, "rate_gbps", vertex.port);
    json.end_object();
  }
  json.end_array();
  json.key("links").begin_array();
  for (const Wire& wire : type.graph.wires) {
    json.begin_object(Layout::line);
    json.key("between").strings(
        {type.graph.vertices[wire.a].name, type.graph.vertices[wire.b].name});
    json.key("kind").string(kind_word(wire.kind, type.gpu.vendor));
    if (wire.lanes > 0) json.key("links").integer(wire.lanes);
    write_rate(json, "rate_gbps", wire.nominal);
    write_rate(json, "nccl_gbps", wire.nccl);
    json.end_object();
  }
  json.end_array();
  const ConnectionMatrix matrix = connection_matrix(type.graph, type.gpu.vendor);
  json.key("matrix").begin_object();
  json.key("devices").strings(matrix.devices);
  json.key("cells").begin_array();
  for (const auto& row : matrix.cells) json.strings(row);
  json.end_array();
  json.end_object();
  json.key("path").string(name_of(type.path));
  json.key("channels").begin_array();
  for (const ChannelOrder& order : type.channels) write_order(json, order);
  json.end_array();
  json.end_object();
}

void write_search(JsonWriter& json, std::string_view key, const SearchGraph& graph) {
  json.key(key).begin_object(Layout::line);
  json.key("channels").integer(graph.channels);
  write_rate(json, "intra_gbps", graph.intra);
  write_rate(json, "inter_gbps", graph.inter);
  json.end_object();
}

void write_node_trees(JsonWriter& json, int nodes) {
  constexpr int kMostNodes = 4096;
  json.key("node_trees").begin_array();
  for (int which = 0; which < 2 && nodes > 1 && nodes <= kMostNodes; ++which) {
    json.begin_array(Layout::line);
    for (const std::optional<int>& parent : node_tree(which, nodes)) {
      parent ? json.integer(*parent) : json.null();
    }
    json.end_array();
  }
  json.end_array();
}

void write_bottleneck(JsonWriter& json, const std::optional<Bottleneck>& found, GpuVendor vendor) {
  json.key("bottleneck");
  if (!found) return json.null();
  json.begin_object();
  json.key("kind").string(kind_word(found->kind, vendor));
  json.key("link").string(found->link);
  write_rate(json, "rate_gbps", found->bandwidth);
  json.key("traffic_share").ratio(found->crossings);
  write_rate(json, "busbw_gbps", found->bus_bandwidth);
  if (found->next_kind) {
    json.key("next_kind").string(kind_word(*found->next_kind, vendor));
    write_rate(json, "next_busbw_gbps", found->next_bus_bandwidth);
  }
  json.end_object();
}

void write_bounds(JsonWriter& json, const Cluster& cluster) {
  json.key("bounds");
  if (cluster.loads == nullptr) return json.null();
  json.begin_object(Layout::line);
  write_rate(json, "ring_busbw_gbps", most_busbw(ChannelShape::ring, cluster));
  write_rate(json, "tree_busbw_gbps", most_busbw(ChannelShape::tree, cluster));
  json.end_object();
}

/// What the text calls assumed and doubtful.
std::vector<std::string> warnings_of(const Cluster& cluster) {
  std::vector<std::string> warnings = implausible_figures(cluster);
  for (const std::string& assumed :
       {assumed_of_variant(cluster.gpu), assumed_of_amd(cluster),
        std::string(assumed_of_connections(cluster)), std::string(assumed_of_leaves(cluster)),
        assumed_of_peers(cluster), assumed_of_roots(cluster), assumed_of_gpudirect(cluster)})
    if (!assumed.empty()) warnings.push_back(assumed);
  return warnings;
}

}  // namespace

std::string topo_json(const TopoReport& report) {
  const Cluster& cluster = report.topology.cluster;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.topo/1");
  write_cluster(json, report.topology);
  write_search(json, "ring", cluster.ring);
  write_search(json, "tree", cluster.tree);
  json.key("nvls_channels").integer(cluster.nvls_channels);
  json.key("node_types").begin_array();
  for (const NodeType& type : report.topology.node_types) write_node_type(json, type);
  json.end_array();
  write_node_trees(json, cluster.nodes);
  write_bottleneck(json, report.bottleneck, cluster.gpu.vendor);
  write_bounds(json, cluster);
  json.key("warnings").strings(warnings_of(cluster));
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
