// NVLink domains of several nodes. NCCL sees one node, and everything else sees several machines.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/compare/money.hpp"
#include "ddpsim/sim/values/link_loads.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

const std::string kTray = " gpu:4xGB200 nvswitch:900GBps nic:4x400Gbps";

Topology domains_of(const std::string& text, std::optional<int> gpus = std::nullopt) {
  return load_topology({.text = text, .nodes = {}, .gpus_per_node = gpus});
}

std::string complaint_about(const std::string& text) {
  try {
    domains_of(text);
  } catch (const InputError& error) {
    return error.diagnostic().message + " | " + error.diagnostic().hint.text;
  }
  return "";
}

Duration gibibyte_on(const std::string& text) {
  return all_reduce_table(domains_of(text).cluster, {}, std::vector{1024_MiB}).rows.front().time;
}

}  // namespace

TEST_CASE("domain: two racks of 18 nodes are two nodes of 72 GPUs to NCCL") {
  const Cluster cluster = domains_of("node:36 domain:18" + kTray).cluster;
  CHECK(cluster.nodes == 2);
  CHECK(cluster.gpus_per_node == 72);
  CHECK(cluster.hosts() == 36);
  CHECK(cluster.gpus_per_host() == 4);
  CHECK(cluster.ranks() == 144);
  CHECK(cluster.network.nics_per_node == 72);
  CHECK(cluster.network.per_nic == Bandwidth::gigabytes_per_second(50));
  CHECK(cluster.intra.kind == IntraKind::nvswitch);
}

TEST_CASE("domain: a job smaller than a domain uses part of it") {
  const Cluster part = domains_of("node:6 domain:18" + kTray).cluster;
  CHECK(part.nodes == 1);
  CHECK(part.gpus_per_node == 24);
  CHECK(part.hosts_per_node == 6);
  const Cluster one = domains_of("node:1 domain:18" + kTray).cluster;
  CHECK(one.hosts_per_node == 1);
  CHECK(one.gpus_per_node == 4);
  const Cluster halves = domains_of("node:36 domain:18" + kTray, 2).cluster;
  CHECK(halves.gpus_per_node == 36);
  CHECK(halves.gpus_per_host() == 2);
  CHECK(halves.network.nics_per_node == 72);
}

TEST_CASE("domain: a node of one GPU can belong to a domain") {
  const Cluster cluster =
      domains_of("node:64 domain:32 gpu:1xGH200 nvswitch:450GBps nic:1x400Gbps").cluster;
  CHECK(cluster.nodes == 2);
  CHECK(cluster.gpus_per_node == 32);
  CHECK(cluster.intra.kind == IntraKind::nvswitch);
}

TEST_CASE("domain: lines for impossible machines are refused with a hint") {
  CHECK(complaint_about("node:20 domain:18" + kTray) ==
        "20 nodes do not fill NVLink domains of 18: 2 are left over | Take up to 18 nodes, or a "
        "multiple of 18. If every domain has the same number of nodes, state it: \"domain:10\"");
  CHECK(complaint_about("node:19 domain:18" + kTray).ends_with("or a multiple of 18"));
  CHECK(complaint_about("node:4 domain:2 gpu:4xA100 pcie:25GBps nic:1x100Gbps")
            .starts_with("only NVSwitches join the GPUs of several nodes | "));
  CHECK(complaint_about("node:200 domain:200" + kTray)
            .starts_with("200 nodes of 4 are 800 GPUs in one NVLink domain | At most 576"));
  CHECK(complaint_about("node:4 domain:0" + kTray).starts_with("\"0\" is out of range"));
}

TEST_CASE("domain: a ring passes every GPU once and leaves by the host where it entered") {
  const Topology racks = domains_of("gb200-nvl72@36");
  const NodeType& type = racks.node_types.front();
  // 18 NVLinks of 40.1 GB/s carry 16 channels of 45.1 GB/s. Every ring passes every GPU, whatever
  // other NICs there are.
  CHECK(racks.cluster.ring.channels == 16);
  CHECK(racks.cluster.ring.inter == Bandwidth::gigabytes_per_second(45.1));
  std::set<std::uint32_t> nics;
  for (const ChannelOrder& channel : type.channels) {
    CHECK(std::set(channel.gpus.begin(), channel.gpus.end()).size() == 72);
    CHECK(*channel.nic_in == *channel.nic_out);  // as rails require
    CHECK(channel.gpus.front() / 4 == *channel.nic_in / 4);
    CHECK(channel.gpus.back() / 4 == *channel.nic_in / 4);
    nics.insert(*channel.nic_in);
  }
  CHECK(nics.size() == 16);
}

TEST_CASE("domain: links are named by domain and node, and a NIC serves only its own host") {
  const Topology racks = domains_of("node:4 domain:2" + kTray + " leaf:2");
  const Fabric fabric = build_fabric(racks);
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(fabric.links, [&](const Link& link) { return link.name == name; });
  };
  CHECK(has("domain1/node0-gpu3 > domain1/nvswitch0"));
  CHECK(has("domain0/node1-nic2 > leaf0"));
  CHECK(has("domain1/node1-nic2 > leaf1"));
  CHECK_FALSE(has("domain0/node0-cpu0 > domain0/node1-cpu0"));
  const ConnectionMatrix matrix = connection_matrix(racks.node_types.front().graph);
  CHECK(matrix.cells[0][7] == "NV18");  // a GPU of the other host
  CHECK(matrix.cells[0][8] == "PIX");
  CHECK(matrix.cells[0][12] == "-");  // a NIC of the other host
}

TEST_CASE("domain: NVLink is faster than NICs, and a second domain adds their time") {
  const Duration rack = gibibyte_on("node:18 domain:18" + kTray);
  CHECK(2 * rack < gibibyte_on("node:18" + kTray));
  const Duration racks = gibibyte_on("node:36 domain:18" + kTray);
  CHECK(racks < gibibyte_on("node:36" + kTray));
}

TEST_CASE("domain: process groups of some of its GPUs") {
  const Cluster cluster = load_cluster({.text = "gb200-nvl72@36",
                                        .nodes = {},
                                        .gpus_per_node = {},
                                        .groups = {{1, 4}, {2, 18}, {1}}});
  REQUIRE(cluster.groups.size() == 3);
  CHECK(cluster.groups[0]->nodes == 1);
  CHECK(cluster.groups[0]->gpus_per_node == 4);
  // One rank on every host, each with a NIC next to it.
  CHECK(cluster.groups[1]->nodes == 2);
  CHECK(cluster.groups[1]->gpus_per_node == 18);
  CHECK(cluster.groups[1]->hosts_per_node == 18);
  CHECK(cluster.groups[2]->gpus_per_node == 72);
}

TEST_CASE("domain: prices count nodes, not domains") {
  const Cluster cluster = domains_of("gb200-nvl72@36").cluster;
  const Price price{.usd = 10, .per = Price::Per::node_hour};
  CHECK(usd_per_hour(price, cluster, {}) == doctest::Approx(360));
}

TEST_CASE("domain: a file can state what a line states, and a word can reduce the domain") {
  const std::string file = R"({"schema": "ddpsim.cluster/1", "name": "racks", "nodes": 36,
    "nodes_per_domain": 18,
    "node": {"gpus": 4, "gpu": "GB200", "interconnect": {"kind": "nvswitch", "per_gpu": "900GBps"}},
    "network": {"kind": "ib", "nics_per_node": 4, "per_nic": "400Gbps"}})";
  CHECK(parse_cluster(file, "racks.json").gpus_per_node == 72);
  CHECK(domains_of("gb200-nvl72 domain:9").cluster.nodes == 2);
  CHECK(domains_of("gb300-nvl72@18").cluster.gpu.name == "GB300");
}

TEST_CASE("placement: if not stated, the interval covers ordered and scattered ranks") {
  const std::string line =
      "node:16 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps oversubscription:4 leaf:4";
  const auto row = [](const std::string& text) {
    return all_reduce_table(domains_of(text).cluster, {}, std::vector{1024_MiB}).rows.front();
  };
  const AllReduceRow open = row(line);
  const AllReduceRow ordered = row(line + " placement:ordered");
  const AllReduceRow scattered = row(line + " placement:scattered");
  CHECK(open.time == ordered.time);
  CHECK(open.low == ordered.low);
  CHECK(ordered.time < scattered.time);
  CHECK(open.high >= scattered.time);
  CHECK(ordered.high < open.high);
  CHECK(domains_of(line).cluster.loads_scattered != nullptr);
  CHECK(domains_of(line + " placement:ordered").cluster.loads_scattered == nullptr);
  // With one node per leaf, the order does not matter.
  CHECK(domains_of("node:4 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps oversubscription:4 leaf:1")
            .cluster.loads_scattered == nullptr);
}

TEST_CASE("placement: NVLink domains move as a whole") {
  const std::string line = "node:8 domain:2" + kTray + " oversubscription:4 ";
  const auto bound = [](const std::string& text) {
    return most_busbw(ChannelShape::ring, domains_of(text).cluster).gigabytes_per_second();
  };
  CHECK(domains_of(line + "leaf:4").cluster.loads_scattered != nullptr);
  CHECK(bound(line + "leaf:4 placement:scattered") <= bound(line + "leaf:4 placement:ordered"));
  // If a leaf holds one domain or a part of it, there is only one order.
  CHECK(domains_of(line + "leaf:2").cluster.loads_scattered == nullptr);
  CHECK(domains_of(line + "leaf:1").cluster.loads_scattered == nullptr);
  CHECK(complaint_about(line + "leaf:3 placement:scattered")
            .starts_with("scattered moves whole NVLink domains"));
}

TEST_CASE("bonded NICs carry the sum of their ports") {
  const std::string node = "node:2 gpu:8xH200 nvswitch:450GBps ";
  CHECK(domains_of(node + "nic:8x2x200Gbps:roce").cluster.network.per_nic ==
        domains_of(node + "nic:8x400Gbps:roce").cluster.network.per_nic);
  CHECK(domains_of(node + "nic:8x2x200Gbps:roce").cluster.network.nics_per_node == 8);
}

TEST_CASE("tiers: words that need another word say so") {
  const std::string line = "node:8 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps ";
  CHECK(complaint_about(line + "pod:4").find("Add \"leaf:NODES\"") != std::string::npos);
  CHECK(complaint_about(line + "leaf:3 pod:4")
            .starts_with("a pod of 4 nodes cannot be divided into leaves of 3 nodes"));
  CHECK(complaint_about(line + "leaf:2 oversubscription:1,2").find("leaf:NODES pod:NODES") !=
        std::string::npos);
  CHECK(complaint_about(line + "placement:ordered").find("rail:NODES") != std::string::npos);
  CHECK(complaint_about(line + "leaf:2 placement:order").find("Did you mean \"ordered\"?") !=
        std::string::npos);
  CHECK(complaint_about(line + "leaf:2 rail:2")
            .starts_with("conflicts with another word that places nodes"));
}
