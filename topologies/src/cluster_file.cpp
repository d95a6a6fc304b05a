// ddpsim.cluster/1, the cluster file: docs/formats.md says what its fields mean. `wiring`, `switches`
// and `degraded` are read by wiring_file, `calibration` by calibration_file, `gloo` by gloo_file.
#include <fmt/format.h>

#include <algorithm>

#include "calibration_file.hpp"
#include "ddpsim/formats/cost_file.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "description.hpp"
#include "gloo_file.hpp"
#include "node_graph.hpp"
#include "wiring_file.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kSchema = "ddpsim.cluster/1";

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

GpuModel read_gpu(const Cursor& cursor) {
  const std::string name = cursor.string();
  const std::string problem = gpu_name_problem(name);
  if (problem.empty()) return *find_gpu(name);
  const bool count = find_gpu(name) && name.find('@') != name.npos;
  cursor.fail(problem, (count ? "Nodes are counted by \"nodes\"; " : "") + gpus_instead_of(name));
}

CpuVendor read_cpu(const Cursor& cursor) {
  const std::string word = cursor.choice({"intel", "amd", "arm", "power"});
  if (word == "intel") return CpuVendor::intel;
  if (word == "amd") return CpuVendor::amd;
  return word == "arm" ? CpuVendor::arm : CpuVendor::power;
}

NvlinkLayout read_layout(const Cursor& cursor, bool xgmi) {
  const std::string word =
      xgmi ? cursor.choice({"pair", "mesh"}) : cursor.choice({"pair", "mesh", "cube"});
  if (word == "pair") return NvlinkLayout::pair;
  return word == "mesh" ? NvlinkLayout::mesh : NvlinkLayout::cube;
}

std::optional<PeerAccess> read_peers(const Object& fields) {
  const auto access = fields.optional("peer_to_peer");
  const bool direct = access && access->boolean();
  if (const auto across = fields.optional("across_sockets")) {
    if (!direct)
      across->fail("is said of peers that reach each other", R"(Add "peer_to_peer": true)");
    return across->boolean() ? PeerAccess::sockets : PeerAccess::one_root;
  }
  if (!access) return std::nullopt;
  return direct ? PeerAccess::one_root : PeerAccess::host;
}

InterconnectDescription read_interconnect(const Cursor& cursor, int gpus,
                                          const std::optional<GpuModel>& gpu) {
  InterconnectDescription out;
  const Cursor written = cursor.free_object().required("kind");
  const std::string kind = written.choice({"nvswitch", "nvlink", "xgmi", "pcie", "none"});
  if (gpu)
    if (const auto foreign = foreign_link(kind, *gpu))
      written.fail(foreign->message, foreign->hint);
  if (kind == "nvlink" || kind == "xgmi") {
    const bool xgmi = kind == "xgmi";
    const Object fields = cursor.object({"kind", "links_per_gpu", "per_link", "layout"});
    out.kind = IntraKind::nvlink;
    const auto layout = fields.optional("layout");
    out.layout = layout ? read_layout(*layout, xgmi)
                        : default_layout(gpus, xgmi ? GpuVendor::amd : GpuVendor::nvidia);
    // What is there before what is missing.
    if (const auto rate = fields.optional("per_link")) out.per_link = rate->bandwidth();
    out.links_per_gpu =
        static_cast<int>(fields.required("links_per_gpu").integer(1, kMostLinksPerGpu));
    out.per_link = fields.required("per_link").bandwidth();
  } else if (kind == "none") {
    cursor.object({"kind"});
  } else if (kind == "pcie") {
    const Object fields =
        cursor.object({"kind", "per_gpu", "peer_to_peer", "across_sockets", "gpus_per_root"});
    out.kind = IntraKind::pcie;
    out.peers = read_peers(fields);
    if (const auto below = fields.optional("gpus_per_root"))
      out.gpus_per_root = static_cast<int>(below->integer(1, gpus));
    out.per_gpu = fields.required("per_gpu").bandwidth();
  } else {
    const Object fields = cursor.object({"kind", "per_gpu"});
    out.kind = IntraKind::nvswitch;
    out.per_gpu = fields.required("per_gpu").bandwidth();
  }
  const std::string problem = layout_problem(out, gpus);
  if (!problem.empty()) cursor.fail(problem);
  return out;
}

void read_wired_node(const Object& node, const Cursor& wiring, NodeDescription& out) {
  for (const char* key : {"gpus", "interconnect"}) {
    if (const auto other = node.optional(key)) {
      other->fail("is given as well as \"wiring\"", "The wiring says it already: keep one of them");
    }
  }
  if (const auto cpu = node.optional("cpu")) out.cpu = read_cpu(*cpu);
  out.gpu = read_gpu(node.required("gpu"));
  out.wiring = read_wiring(wiring, out.gpu);
  const auto gpus = out.wiring->all(VertexKind::gpu).size();
  if (gpus == 0) wiring.fail("no GPU among the vertices");
  if (gpus > kMostGpusPerNode) wiring.fail(fmt::format("more than {} GPUs", kMostGpusPerNode));
  out.gpus_per_node = out.gpus_in_layout = static_cast<int>(gpus);
}

void read_node(const Cursor& cursor, NodeDescription& out) {
  const Object node = cursor.object({"gpus", "gpu", "cpu", "interconnect", "wiring"});
  if (const auto wiring = node.optional("wiring")) return read_wired_node(node, *wiring, out);
  const auto gpus = node.optional("gpus");
  if (gpus) out.gpus_per_node = static_cast<int>(gpus->integer(1, kMostGpusPerNode));
  out.gpus_in_layout = out.gpus_per_node;
  const auto model = node.optional("gpu");
  if (model) out.gpu = read_gpu(*model);
  if (const auto cpu = node.optional("cpu")) out.cpu = read_cpu(*cpu);
  const auto interconnect = node.optional("interconnect");
  if (interconnect && gpus)
    out.interconnect = read_interconnect(*interconnect, out.gpus_per_node,
                                         model ? std::optional(out.gpu) : std::nullopt);
  node.required("gpus");
  read_gpu(node.required("gpu"));
  if (out.gpus_per_node > 1) node.required("interconnect");
}

/// NICs of nodes that do not state their own.
struct Nics {
  int count = 0;
  Bandwidth rate;
};

Nics read_network(const Cursor& cursor, ClusterDescription& description, bool nics_needed) {
  Network& out = description.network;
  Nics nics;
  const Object network = cursor.object({"kind", "nics_per_node", "per_nic", "latency", "connection",
                                        "oversubscription", "gpudirect", "collnet"});
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
  const Object fields = cursor.object({"search_channels", "per_channel"});
  StatedChannels out;
  if (const auto rate = fields.optional("per_channel")) out.per_channel = rate->bandwidth();
  out.channels = static_cast<int>(fields.required("search_channels").integer(1, kMostChannels / 2));
  out.per_channel = fields.required("per_channel").bandwidth();
  return out;
}

Price read_price(const Cursor& cursor) {
  constexpr double kDearest = 1e9;
  const Object fields = cursor.object({"usd", "per", "terms", "as_of", "source"});
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
      other->fail("is given as well as \"node_types\"", "Keep one of them");
    }
  }
  out.types.clear();
  std::int64_t nodes = 0;
  for (const Cursor& item : cursor.array()) {
    if (out.types.size() == kMostTypes) item.fail("more than 64 types of nodes");
    const Object fields = item.object({"name", "count", "node", "nics_per_node", "per_nic"});
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
        item.fail(fmt::format("two types are called {}", in_quotes(node.name)));
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

ClusterDescription describe_file(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  const Cursor cursor = document.root();
  check_schema(cursor);
  const Object root =
      cursor.object({"schema", "name", "summary", "nodes", "node", "network", "nodes_per_domain",
                     "nccl", "sources", "verified", "prices", "node_types", "switches", "degraded",
                     "calibration", "gloo", "gpu_costs"});
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
  if (const auto costs = root.optional("gpu_costs"))
    out.gpu_costs = read_costs(*costs, gpu_costs());
  root.required("name");
  if (!root.has("node_types")) root.required("node");
  return out;
}

Cluster parse_cluster(std::string_view text, const std::string& file) {
  return resolve(describe_file(text, file)).cluster;
}

}  // namespace ddpsim
