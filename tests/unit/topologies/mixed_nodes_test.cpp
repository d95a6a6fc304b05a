// Clusters with different nodes, degraded links or another size, and what stays of their values.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "ddpsim/topologies/topology.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

std::string type(const std::string& name, const std::string& node, const std::string& nics) {
  return R"({"name": ")" + name + R"(", "count": 1, "node": {"gpus": 2, )" + node + "}, " + nics +
         "}";
}

Cluster both(const std::string& first, const std::string& second) {
  return parse_cluster(R"({"schema": "ddpsim.cluster/1", "name": "mixed", "node_types": [)" +
                           first + ", " + second + R"(], "network": {"kind": "ib"}})",
                       "mixed.json");
}

std::string switched(const std::string& gpu, const std::string& cpu, const std::string& rate) {
  return R"("gpu": ")" + gpu + R"(", "cpu": ")" + cpu +
         R"(", "interconnect": {"kind": "nvswitch", "per_gpu": ")" + rate + R"("})";
}

std::string nics(int count, const std::string& rate) {
  return R"("nics_per_node": )" + std::to_string(count) + R"(, "per_nic": ")" + rate + R"(")";
}

Fabric mixed_fabric(const std::string& text) {
  return build_fabric(ClusterRequest{text, {}, {}});
}

double rate_of(const Fabric& fabric, const std::string& name) {
  for (const Link& link : fabric.links)
    if (link.name == name) return link.bandwidth.gigabytes_per_second();
  return -1;
}

}  // namespace

TEST_CASE("mixed nodes: the slower type decides, whether listed first or second") {
  const std::string fast = type("fast", switched("A100", "intel", "300GBps"), nics(4, "200Gbps"));
  const std::string slow = type("slow", switched("V100", "amd", "150GBps"), nics(2, "100Gbps"));
  for (const Cluster& cluster : {both(fast, slow), both(slow, fast)}) {
    CHECK(cluster.nodes == 2);
    CHECK(cluster.gpus_per_node == 2);
    CHECK(cluster.gpu.name == "V100");
    CHECK(cluster.cpu == CpuVendor::amd);
    CHECK(cluster.intra.per_gpu == 150_GBps);
    CHECK(cluster.intra.links_per_gpu == 6);
    CHECK(cluster.network.nics_per_node == 2);
    CHECK(cluster.network.per_nic == 12.5_GBps);
    // One channel of 12 GB/s per NIC, which is the rate of V100's slots.
    CHECK(cluster.ring.channels == 2);
    CHECK(cluster.ring.inter == 12_GBps);
  }
}

TEST_CASE("mixed nodes: networks are compared by all NICs together") {
  // 50 GB/s in one NIC, 25 GB/s in two.
  const std::string a100 = switched("A100", "intel", "300GBps");
  for (const bool first : {true, false}) {
    const std::string one = type("one", a100, nics(1, "400Gbps"));
    const std::string two = type("two", a100, nics(2, "100Gbps"));
    const Cluster cluster = first ? both(two, one) : both(one, two);
    CHECK(cluster.network.nics_per_node == 2);
    CHECK(cluster.network.per_nic == 12.5_GBps);
  }
}

TEST_CASE("mixed nodes: the slower GPU of a generation counts, and an AMD processor counts") {
  const auto of = [](const std::string& gpu, const std::string& cpu) {
    return type(gpu + cpu, switched(gpu, cpu, "300GBps"), nics(1, "100Gbps"));
  };
  CHECK(both(of("RTX3090", "intel"), of("A10", "intel")).gpu.name == "A10");
  CHECK(both(of("A10", "intel"), of("RTX3090", "intel")).gpu.name == "A10");
  CHECK(both(of("A100", "amd"), of("A100", "intel")).cpu == CpuVendor::amd);
  CHECK(both(of("A100", "arm"), of("A100", "intel")).cpu == CpuVendor::arm);
}

TEST_CASE("degraded links: only listed links are slower") {
  Topology topology =
      load_topology({"node:2 gpu:2xV100 nvswitch:150GBps nic:1x100Gbps:ib", {}, {}});
  topology.degraded = {{"node0/gpu0 > node0/nvswitch0", 10_GBps},
                       {"node1/gpu1 - node1/nvswitch0", 20_GBps}};
  const Fabric fabric = build_fabric(topology);
  CHECK(rate_of(fabric, "node0/gpu0 > node0/nvswitch0") == 10);
  CHECK(rate_of(fabric, "node0/nvswitch0 > node0/gpu0") == 150);
  CHECK(rate_of(fabric, "node1/gpu1 > node1/nvswitch0") == 20);
  CHECK(rate_of(fabric, "node1/nvswitch0 > node1/gpu1") == 20);
  CHECK(rate_of(fabric, "node0/gpu1 > node0/nvswitch0") == 150);
  CHECK(rate_of(fabric, "node1/gpu0 > node1/nvswitch0") == 150);
  // The first ring enters by the NIC at gpu0 and continues to gpu1, so the slow link from gpu0 is
  // the bottleneck.
  const auto bottleneck = find_bottleneck(fabric);
  REQUIRE(bottleneck);
  CHECK(bottleneck->link == "node0/gpu0 > node0/nvswitch0");
  CHECK(bottleneck->bandwidth == 10_GBps);
  CHECK(bottleneck->crossings == 1);
  CHECK(bottleneck->bus_bandwidth == 10_GBps);
  CHECK(bottleneck->next_kind == LinkKind::nic);
  CHECK(bottleneck->next_bus_bandwidth == 12.5_GBps);
}

TEST_CASE("oversubscription: if leaves are not stated, every node's uplink is narrow") {
  const auto trunks = [](const std::string& oversubscription) {
    std::vector<double> rates;
    const Fabric fabric =
        mixed_fabric("node:3 gpu:2xV100 nvswitch:150GBps nic:2x100Gbps:ib" + oversubscription);
    for (const Link& link : fabric.links)
      if (link.kind == LinkKind::network) rates.push_back(link.bandwidth.gigabytes_per_second());
    return rates;
  };
  // A node's 25 GB/s divided by 4, up and down for each of three nodes.
  CHECK(trunks(" oversubscription:4") == std::vector<double>(6, 6.25));
  CHECK(trunks(" oversubscription:1").empty());
  CHECK(trunks("").empty());
}

TEST_CASE("part of a node: the first GPUs are kept, with all NICs and without logs") {
  const std::string line = "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:4x100Gbps:ib";
  const Topology part = load_topology({line, {}, 2});
  CHECK(part.cluster.ranks() == 4);
  CHECK(part.cluster.network.nics_per_node == 4);
  CHECK(part.cluster.intra.per_gpu == 25_GBps);  // one link joins 0 and 1
  const NodeGraph& graph = part.node_types.front().graph;
  CHECK(graph.all(VertexKind::gpu).size() == 2);
  CHECK(graph.all(VertexKind::nic).size() == 4);
  CHECK(graph.all(VertexKind::pcie_switch).size() == 4);
  for (const Wire& wire : graph.wires) {
    CHECK(wire.a < graph.vertices.size());
    CHECK(wire.b < graph.vertices.size());
  }
  const ConnectionMatrix matrix = connection_matrix(graph);
  CHECK(matrix.cells[0] == std::vector<std::string>{"X", "NV1", "PIX", "PHB", "SYS", "SYS"});
  CHECK(load_cluster({"dgx1v", {}, 8}).verified);
  CHECK_FALSE(load_cluster({"dgx1v", {}, 7}).verified);
}

TEST_CASE("resized: channels stated for one node do not apply to several, or to a part of one") {
  const std::string head = R"({"schema": "ddpsim.cluster/1", "name": "lab", "nodes": )";
  const std::string tail = R"(, "verified": [2, 4],
      "node": {"gpus": 4, "gpu": "A100", "interconnect": {"kind": "nvswitch", "per_gpu": "300GBps"}},
      "network": {"kind": "ib", "nics_per_node": 4, "per_nic": "200Gbps"},
      "nccl": {"search_channels": 7, "per_channel": "19GBps"}})";
  const Cluster two = parse_cluster(head + "2" + tail, "lab.json");
  CHECK(two.ring.channels == 7);
  CHECK(two.ring.intra == 19_GBps);
  CHECK(two.ring.inter == 19_GBps);
  CHECK(two.tree.channels == 7);
  CHECK(two.tree.intra == 19_GBps);
  CHECK(two.verified);
  CHECK_FALSE(parse_cluster(head + "3" + tail, "lab.json").verified);
  CHECK(parse_cluster(head + "4" + tail, "lab.json").verified);
}

TEST_CASE("cluster file: every field of network, prices and sources") {
  const Cluster cluster = parse_cluster(R"({"schema": "ddpsim.cluster/1", "name": "lab",
      "summary": "a lab", "nodes": 3, "sources": ["one", "two"], "verified": true,
      "node": {"gpus": 4, "gpu": "V100", "cpu": "power",
               "interconnect": {"kind": "nvlink", "links_per_gpu": 6, "per_link": "25GBps",
                                "layout": "mesh"}},
      "network": {"kind": "roce", "nics_per_node": 2, "per_nic": "100Gbps", "latency": "3us",
                  "oversubscription": 1.5, "gpudirect": false, "collnet": true},
      "prices": [{"usd": 12.5, "per": "node", "terms": "bought", "as_of": "2026-01",
                  "source": "a list"},
                 {"usd": 3.25}]})",
                                        "lab.json");
  CHECK(cluster.name == "lab");
  CHECK(cluster.nodes == 3);
  CHECK(cluster.gpus_per_node == 4);
  CHECK(cluster.cpu == CpuVendor::power);
  CHECK(cluster.intra.kind == IntraKind::nvlink);
  CHECK(cluster.intra.links_per_gpu == 6);
  CHECK(cluster.intra.per_gpu == 150_GBps);
  CHECK(cluster.network.kind == NetworkKind::roce);
  CHECK(cluster.network.nics_per_node == 2);
  CHECK(cluster.network.per_nic == 12.5_GBps);
  CHECK(cluster.network.latency == 3_us);
  CHECK(cluster.network.oversubscription == 1.5);
  CHECK_FALSE(cluster.network.gpudirect);
  CHECK(cluster.network.collnet);
  CHECK_FALSE(cluster.network.connection);
  CHECK(cluster.verified);
  CHECK(cluster.sources == std::vector<std::string>{"one", "two"});
  REQUIRE(cluster.prices.size() == 2);
  CHECK(cluster.prices[0].usd == 12.5);
  CHECK(cluster.prices[0].per == Price::Per::node);
  CHECK(cluster.prices[0].terms == "bought");
  CHECK(cluster.prices[0].as_of == "2026-01");
  CHECK(cluster.prices[0].source == "a list");
  CHECK(cluster.prices[1].usd == 3.25);
  CHECK(cluster.prices[1].per == Price::Per::node_hour);
}

TEST_CASE("words after a cluster: another network makes another cluster than the log's") {
  const auto load = [](const std::string& words) { return load_cluster({"dgx1v" + words, 1, {}}); };
  CHECK(load("").verified);
  CHECK(load(" gpu:8xV100").verified);
  for (const char* word : {" nic:4x100Gbps:ib", " oversubscription:2", " latency:2us"}) {
    CAPTURE(word);
    CHECK_FALSE(load(word).verified);
  }
  const Cluster other =
      load_cluster({"dgx1v nic:2x50Gbps:roce oversubscription:3 latency:7us", 2, {}});
  CHECK(other.network.kind == NetworkKind::roce);
  CHECK(other.network.nics_per_node == 2);
  CHECK(other.network.per_nic == 6.25_GBps);
  CHECK(other.network.oversubscription == 3);
  CHECK(other.network.latency == 7_us);
  CHECK(load_cluster({"dgx1v nic:50Gbps:ib", 2, {}}).network.nics_per_node ==
        4);  // unchanged number
  CHECK(load_cluster({"2xv100-nvlink nic:50Gbps:ib", 2, {}}).network.nics_per_node == 1);
}
