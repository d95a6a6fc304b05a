// Reads ddpsim.cluster/1, the cluster file (docs/reference/formats.md). node_file reads `node`. wiring_file
// reads `wiring`, `switches` and `degraded`. calibration_file reads `calibration`, and gloo_file
// reads `gloo`.
#include <fmt/format.h>

#include <algorithm>

#include "calibration_file.hpp"
#include "ddpsim/formats/cost_file.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "description.hpp"
#include "gloo_file.hpp"
#include "node_file.hpp"
#include "node_graph.hpp"
#include "wiring_file.hpp"

namespace ddpsim {
namespace {

using Kind = ValueType::Kind;

constexpr std::string_view kSchema = "ddpsim.cluster/1";

const ObjectType& network_type() {
  static const auto type =
      ObjectType("ClusterNetwork", "the network between nodes")
          .needs("kind", word_of({"ib", "roce", "tcp", "tcp-vm", "tcpx", "efa", "slingshot"}),
                 "what kind of network it is")
          .may_have("nics_per_node", {Kind::integer},
                    "how many NICs each node has; needed unless all nodes state theirs")
          .may_have("per_nic", {Kind::text},
                    "rate of one NIC: \"100Gbps\"; needed unless all nodes state theirs")
          .may_have("latency", {Kind::text},
                    "time one way, at most 1 s: \"1.5us\"; by default what is usual for the kind")
          .may_have("connection", {Kind::text},
                    "what one TCP connection reaches: \"5Gbps\"; only of tcp and tcp-vm, by "
                    "default what is usual for the kind")
          .may_have(
              "oversubscription", {Kind::number},
              "what the ports below a full switch send over what its trunks carry; 1 by default")
          .may_have("gpudirect", {Kind::boolean},
                    "whether NICs read and write GPU memory themselves (GPUDirect RDMA). Default: "
                    "true, but false with tcp, and with GeForce cards on ib or roce")
          .may_have("collnet", {Kind::boolean},
                    "whether its switches reduce (SHARP), by CollNet, and by NVLS between nodes; "
                    "false by default");
  return type;
}

const ObjectType& stated_type() {
  static const auto type =
      ObjectType("StatedChannels", "channels that a log of NCCL shows, in place of the search")
          .needs("search_channels", {Kind::integer}, "how many, before NCCL doubles them")
          .needs("per_channel", {Kind::text}, "rate of one channel: \"20GBps\"");
  return type;
}

const ObjectType& price_type() {
  static const auto type =
      ObjectType("ClusterPrice", "what the cluster costs")
          .needs("usd", {Kind::number}, "US dollars")
          .may_have("per", word_of({"node_hour", "gpu_hour", "node"}),
                    "what is paid for; node_hour by default")
          .may_have("terms", {Kind::text}, "terms of the offer: \"on-demand\"")
          .may_have("as_of", {Kind::text}, "when it was looked up: \"2026-11\"")
          .may_have("source", {Kind::text}, "who says so");
  return type;
}

const ObjectType& listed_type() {
  static const auto type =
      ObjectType("ClusterNodeType", "equal nodes, in a cluster with several types of nodes")
          .needs("name", {Kind::text}, "what they are called; no other type has this name")
          .needs("count", {Kind::integer}, "how many there are")
          .needs("node", object_of(cluster_node_type()), "one of them")
          .may_have("nics_per_node", {Kind::integer},
                    "how many NICs each of them has; default: nics_per_node of the network")
          .may_have("per_nic", {Kind::text},
                    "rate of one NIC: \"100Gbps\"; default: per_nic of the network");
  return type;
}

const ObjectType& gpu_costs_type() {
  static const ObjectType type =
      costs_type("GpuCosts", "what DDP takes of this GPU, as measured", gpu_costs());
  return type;
}

void check_schema(const Cursor& root) {
  const auto schema = root.free_object().optional("schema");
  if (!schema) {
    root.fail(fmt::format("missing \"schema\"; expected \"schema\": \"{}\"", kSchema));
  }
  const std::string written = schema->string();
  if (written == kSchema) return;
  const bool ours = written.rfind("ddpsim.", 0) == 0;
  schema->fail(fmt::format("{} is not a cluster; expected \"{}\"", in_quotes(written), kSchema),
               ours && written.rfind("ddpsim.cluster/", 0) != 0
                   ? "This file belongs elsewhere on the command line"
                   : "");
}

/// NICs of nodes that do not state their own.
struct Nics {
  int count = 0;
  Bandwidth rate;
};

Nics read_network(const Cursor& cursor, ClusterDescription& description, bool nics_needed) {
  Network& out = description.network;
  Nics nics;
  const Object network = cursor.object(network_type());
  if (const auto direct = network.optional("gpudirect")) {
    out.gpudirect = direct->boolean();
    description.gpudirect_stated = true;
  }
  if (const auto collnet = network.optional("collnet")) out.collnet = collnet->boolean();
  if (const auto latency = network.optional("latency")) {
    out.latency = latency->duration();
    if (*out.latency > Duration::seconds(1)) {
      latency->fail("is out of range; expected at most \"1s\", one way");
    }
  }
  if (const auto ratio = network.optional("oversubscription")) {
    out.oversubscription = ratio->number(1, kMostOversubscription);
  }
  if (const auto count = network.optional("nics_per_node")) {
    nics.count = static_cast<int>(count->integer(1, kMostNicsPerNode));
  }
  if (const auto rate = network.optional("per_nic")) nics.rate = rate->bandwidth();
  name_network(
      network.required("kind").choice({"ib", "roce", "tcp", "tcp-vm", "tcpx", "efa", "slingshot"}),
      out);
  if (const auto connection = network.optional("connection")) {
    out.connection = connection->bandwidth();
    if (!through_sockets(out)) connection->fail(kNoConnections);
  }
  if (nics_needed) {
    network.required("nics_per_node");
    network.required("per_nic").bandwidth();
  }
  return nics;
}

StatedChannels read_stated(const Cursor& cursor) {
  const Object fields = cursor.object(stated_type());
  StatedChannels out;
  if (const auto rate = fields.optional("per_channel")) out.per_channel = rate->bandwidth();
  out.channels = static_cast<int>(fields.required("search_channels").integer(1, kMostChannels / 2));
  out.per_channel = fields.required("per_channel").bandwidth();
  return out;
}

Price read_price(const Cursor& cursor) {
  constexpr double kDearest = 1e9;
  const Object fields = cursor.object(price_type());
  Price out;
  if (const auto per = fields.optional("per")) {
    const std::string unit = per->choice({"node_hour", "gpu_hour", "node"});
    out.per = unit == "node"       ? Price::Per::node
              : unit == "gpu_hour" ? Price::Per::gpu_hour
                                   : Price::Per::node_hour;
  }
  if (const auto terms = fields.optional("terms")) out.terms = terms->string();
  if (const auto date = fields.optional("as_of")) out.as_of = date->string();
  if (const auto source = fields.optional("source")) out.source = source->string();
  out.usd = fields.required("usd").number(0, kDearest);
  return out;
}

void read_verified(const Cursor& cursor, ClusterDescription& out) {
  if (!cursor.is_array()) {
    if (cursor.boolean()) out.verified_nodes = {out.nodes()};
    return;
  }
  for (const Cursor& nodes : cursor.array()) {
    out.verified_nodes.push_back(static_cast<int>(nodes.integer(1, kMostNodes)));
  }
}

bool states_nics(const NodeDescription& node) {
  if (!node.wiring) return node.nics > 0;
  const auto& vertices = node.wiring->vertices;
  bool any = false;
  for (const Vertex& vertex : vertices) {
    if (vertex.kind != VertexKind::nic) continue;
    if (!(vertex.port > Bandwidth())) return false;
    any = true;
  }
  return any;
}

void read_node_types(const Object& root, const Cursor& cursor, ClusterDescription& out) {
  constexpr std::size_t kMostTypes = 64;
  for (const char* key : {"node", "nodes"}) {
    if (const auto other = root.optional(key)) {
      other->fail("conflicts with \"node_types\"", "Keep one of them");
    }
  }
  out.types.clear();
  std::int64_t nodes = 0;
  for (const Cursor& item : cursor.array()) {
    if (out.types.size() == kMostTypes) item.fail("more than 64 types of nodes");
    const Object fields = item.object(listed_type());
    NodeDescription node;
    if (const auto nics = fields.optional("nics_per_node")) {
      node.nics = static_cast<int>(nics->integer(1, kMostNicsPerNode));
      node.per_nic = fields.required("per_nic").bandwidth();
    }
    node.count = static_cast<int>(fields.required("count").integer(1, kMostNodes));
    nodes += node.count;
    if (nodes > kMostNodes) item.fail(fmt::format("more than {} nodes", kMostNodes));
    read_node(fields.required("node"), node);
    node.name = fields.required("name").string();
    for (const NodeDescription& other : out.types) {
      if (other.name == node.name) {
        item.fail(fmt::format("two types have the name {}", in_quotes(node.name)));
      }
    }
    out.types.push_back(std::move(node));
  }
  if (out.types.empty()) cursor.fail("is empty; expected at least one type of node");
}

void give_nics(const Cursor& network, const Nics& nics, ClusterDescription& out) {
  for (NodeDescription& node : out.types) {
    if (states_nics(node)) continue;
    node.nics = nics.count;
    node.per_nic = nics.rate;
    if (node.wiring && !set_nics(*node.wiring, nics.count, nics.rate)) {
      network.fail(fmt::format("{} NICs per node, where the wiring has {}", nics.count,
                               node.wiring->all(VertexKind::nic).size()));
    }
  }
}

}  // namespace

const ObjectType& cluster_document() {
  static const auto type =
      ObjectType("ClusterFile", "a cluster: its nodes, its network, what calibrates it")
          .needs("schema", word_of({std::string(kSchema)}), "which document this is")
          .needs("name", {Kind::text}, "what it is called")
          .may_have("summary", {Kind::text}, "one line about it")
          .may_have("nodes", {Kind::integer}, "how many nodes it has; 1 by default")
          .may_have("node", object_of(cluster_node_type()),
                    "one of its nodes; needed without node_types")
          .may_have("network", object_of(network_type()),
                    "the network between nodes; needed for several nodes")
          .may_have("nodes_per_domain", {Kind::integer},
                    "how many nodes one NVLink domain joins, by NVSwitches; 1 by default")
          .may_have("nccl", object_of(stated_type()),
                    "channels that a log of NCCL shows at this size, in place of the search")
          .may_have("sources", list_of({Kind::text}),
                    "where the figures come from, as `ddpsim topo` shows")
          .may_have(
              "verified", any_of({{Kind::boolean}, list_of({Kind::integer})}),
              "sizes at which a log confirms this file: numbers of nodes, or true for its own")
          .may_have("prices", list_of(object_of(price_type())), "what it costs, latest first")
          .may_have("node_types", list_of(object_of(listed_type())),
                    "types of nodes that differ, in place of nodes and node")
          .may_have("switches", any_of(switches_types()),
                    "how switches are wired; one switch by default")
          .may_have("degraded", list_of(object_of(degraded_link_type())),
                    "links that are slower than they should be")
          .may_have("calibration", object_of(calibration_type()),
                    "what `ddpsim calibrate` fitted to logs of NCCL")
          .may_have("gloo", object_of(gloo_type()),
                    "what `ddpsim calibrate` fitted to logs of gloo")
          .may_have("gpu_costs", object_of(gpu_costs_type()),
                    "what DDP takes of this GPU, as measured: intervals treat it as exact; by "
                    "default what other GPUs take");
  return type;
}

ClusterDescription describe_file(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  const Cursor cursor = document.root();
  check_schema(cursor);
  const Object root = cursor.object(cluster_document());
  ClusterDescription out;
  out.file = file;
  if (const auto name = root.optional("name")) out.name = name->string();
  if (const auto summary = root.optional("summary")) out.summary = summary->string();
  if (const auto nodes = root.optional("nodes")) {
    out.types.front().count = static_cast<int>(nodes->integer(1, kMostNodes));
  }
  if (const auto nodes = root.optional("nodes_per_domain"))
    out.nodes_per_domain = static_cast<int>(nodes->integer(1, kMostGpusPerNode));
  if (const auto node = root.optional("node")) read_node(*node, out.types.front());
  if (const auto types = root.optional("node_types")) read_node_types(root, *types, out);
  if (const auto network = root.optional("network")) {
    const bool stated = std::all_of(out.types.begin(), out.types.end(), states_nics);
    give_nics(*network, read_network(*network, out, !stated), out);
  }
  if (const auto switches = root.optional("switches")) {
    out.switches = read_switches(*switches, file);
  }
  if (const auto degraded = root.optional("degraded")) out.degraded = read_degraded(*degraded);
  if (const auto stated = root.optional("nccl")) out.stated = read_stated(*stated);
  if (const auto sources = root.optional("sources")) {
    for (const Cursor& source : sources->array()) out.sources.push_back(source.string());
  }
  if (const auto verified = root.optional("verified")) read_verified(*verified, out);
  if (const auto prices = root.optional("prices")) {
    for (const Cursor& price : prices->array()) out.prices.push_back(read_price(price));
  }
  if (const auto calibration = root.optional("calibration")) {
    out.calibration = read_calibration(*calibration);
  }
  if (const auto gloo = root.optional("gloo")) out.gloo = read_gloo(*gloo);
  if (const auto costs = root.optional("gpu_costs")) {
    out.gpu_costs = read_costs(*costs, gpu_costs());
  }
  root.required("name");
  if (!root.has("node_types")) root.required("node");
  return out;
}

Cluster parse_cluster(std::string_view text, const std::string& file) {
  return resolve(describe_file(text, file)).cluster;
}

}  // namespace ddpsim
