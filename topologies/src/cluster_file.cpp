// ddpsim.cluster/1, the cluster file:
//
//   {"schema": "ddpsim.cluster/1", "name": "…", "summary": "…", "nodes": 1,
//    "node": {"gpus": 8, "gpu": "V100", "cpu": "intel|amd|arm|power",
//             "interconnect": {"kind": "nvlink", "links_per_gpu": 6, "per_link": "25GBps",
//                              "layout": "pair|mesh|cube"}
//                           | {"kind": "nvswitch|pcie", "per_gpu": "300GBps"} | {"kind": "none"}},
//    "network": {"kind": "ib|roce|tcp|efa|slingshot", "nics_per_node": 4, "per_nic": "100Gbps",
//                "latency": "1.5us", "oversubscription": 1, "gpudirect": true, "collnet": false},
//    "nccl": {"search_channels": 6, "per_channel": "20GBps"},
//    "sources": ["…"], "verified": true | [NODES, …],
//    "prices": [{"usd": 32.77, "per": "node_hour|node", "terms": "…", "as_of": "…", "source": "…"}]}
//
// Bandwidth per direction. `network` may be absent for one node, `nccl` overrides the derivation.
// `verified`: a log stands behind the cluster as written, or at these numbers of nodes.
#include <fmt/format.h>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "description.hpp"

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
  const auto gpu = find_gpu(name);
  if (gpu) return *gpu;
  const auto names = gpu_names();
  const auto near = nearest(name, names);
  std::string all;
  for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
  cursor.fail("unknown GPU " + in_quotes(name),
              near ? fmt::format("Did you mean \"{}\"?", *near) : "Known GPUs: " + all);
}

CpuVendor read_cpu(const Cursor& cursor) {
  const std::string word = cursor.choice({"intel", "amd", "arm", "power"});
  if (word == "intel") return CpuVendor::intel;
  if (word == "amd") return CpuVendor::amd;
  return word == "arm" ? CpuVendor::arm : CpuVendor::power;
}

NvlinkLayout read_layout(const Cursor& cursor) {
  const std::string word = cursor.choice({"pair", "mesh", "cube"});
  if (word == "pair") return NvlinkLayout::pair;
  return word == "mesh" ? NvlinkLayout::mesh : NvlinkLayout::cube;
}

InterconnectDescription read_interconnect(const Cursor& cursor, int gpus) {
  InterconnectDescription out;
  const std::string kind =
      cursor.free_object().required("kind").choice({"nvswitch", "nvlink", "pcie", "none"});
  if (kind == "nvlink") {
    const Object fields = cursor.object({"kind", "links_per_gpu", "per_link", "layout"});
    out.kind = IntraKind::nvlink;
    const auto layout = fields.optional("layout");
    out.layout = layout ? read_layout(*layout) : default_layout(gpus);
    // What is there before what is missing.
    if (const auto rate = fields.optional("per_link")) out.per_link = rate->bandwidth();
    out.links_per_gpu =
        static_cast<int>(fields.required("links_per_gpu").integer(1, kMostLinksPerGpu));
    out.per_link = fields.required("per_link").bandwidth();
  } else if (kind == "none") {
    cursor.object({"kind"});
  } else {
    const Object fields = cursor.object({"kind", "per_gpu"});
    out.kind = kind == "pcie" ? IntraKind::pcie : IntraKind::nvswitch;
    out.per_gpu = fields.required("per_gpu").bandwidth();
  }
  const std::string problem = layout_problem(out, gpus);
  if (!problem.empty()) cursor.fail(problem);
  return out;
}

void read_node(const Cursor& cursor, NodeDescription& out) {
  const Object node = cursor.object({"gpus", "gpu", "cpu", "interconnect"});
  const auto gpus = node.optional("gpus");
  if (gpus) out.gpus_per_node = static_cast<int>(gpus->integer(1, kMostGpusPerNode));
  out.gpus_in_layout = out.gpus_per_node;
  if (const auto gpu = node.optional("gpu")) out.gpu = read_gpu(*gpu);
  if (const auto cpu = node.optional("cpu")) out.cpu = read_cpu(*cpu);
  const auto interconnect = node.optional("interconnect");
  if (interconnect && gpus) out.interconnect = read_interconnect(*interconnect, out.gpus_per_node);
  node.required("gpus");
  read_gpu(node.required("gpu"));
  if (out.gpus_per_node > 1) node.required("interconnect");
}

void read_network(const Cursor& cursor, ClusterDescription& cluster) {
  Network& out = cluster.network;
  NodeDescription& node = cluster.types.front();
  const Object network = cursor.object(
      {"kind", "nics_per_node", "per_nic", "latency", "oversubscription", "gpudirect", "collnet"});
  if (const auto direct = network.optional("gpudirect")) out.gpudirect = direct->boolean();
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
  if (const auto nics = network.optional("nics_per_node")) {
    node.nics = static_cast<int>(nics->integer(1, kMostNicsPerNode));
  }
  if (const auto rate = network.optional("per_nic")) node.per_nic = rate->bandwidth();
  out.kind =
      *network_kind(network.required("kind").choice({"ib", "roce", "tcp", "efa", "slingshot"}));
  network.required("nics_per_node");
  network.required("per_nic").bandwidth();
}

StatedChannels read_stated(const Cursor& cursor) {
  constexpr std::int64_t kMostChannels = 32;
  const Object fields = cursor.object({"search_channels", "per_channel"});
  StatedChannels out;
  if (const auto rate = fields.optional("per_channel")) out.per_channel = rate->bandwidth();
  out.channels = static_cast<int>(fields.required("search_channels").integer(1, kMostChannels));
  out.per_channel = fields.required("per_channel").bandwidth();
  return out;
}

Price read_price(const Cursor& cursor) {
  constexpr double kDearest = 1e9;
  const Object fields = cursor.object({"usd", "per", "terms", "as_of", "source"});
  Price out;
  if (const auto per = fields.optional("per")) {
    out.per = per->choice({"node_hour", "node"}) == "node" ? Price::Per::node : out.per;
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

}  // namespace

ClusterDescription describe_file(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  const Cursor cursor = document.root();
  check_schema(cursor);
  const Object root = cursor.object({"schema", "name", "summary", "nodes", "node", "network",
                                     "nccl", "sources", "verified", "prices"});
  ClusterDescription out;
  out.file = file;
  if (const auto name = root.optional("name")) out.name = name->string();
  if (const auto summary = root.optional("summary")) out.summary = summary->string();
  if (const auto nodes = root.optional("nodes")) {
    out.types.front().count = static_cast<int>(nodes->integer(1, kMostNodes));
  }
  if (const auto node = root.optional("node")) read_node(*node, out.types.front());
  if (const auto network = root.optional("network")) read_network(*network, out);
  if (const auto stated = root.optional("nccl")) out.stated = read_stated(*stated);
  if (const auto sources = root.optional("sources")) {
    for (const Cursor& source : sources->array()) out.sources.push_back(source.string());
  }
  if (const auto verified = root.optional("verified")) read_verified(*verified, out);
  if (const auto prices = root.optional("prices")) {
    for (const Cursor& price : prices->array()) out.prices.push_back(read_price(price));
  }
  for (const char* key : {"name", "node"}) root.required(key);
  return out;
}

Cluster parse_cluster(std::string_view text, const std::string& file) {
  return seal(describe_file(text, file)).cluster;
}

}  // namespace ddpsim
