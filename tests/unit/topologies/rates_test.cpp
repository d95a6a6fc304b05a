// NCCL's rates per link and slot, the speeds it tries, and how a node is drawn by default.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ddpsim/topologies/pcie_rate.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "nccl_rates.hpp"
#include "node_graph.hpp"
#include "nvls_heads.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using Speeds = std::vector<double>;

Speeds list(std::span<const double> speeds) {
  return {speeds.begin(), speeds.end()};
}

NodeGraph node_of(const std::string& line) {
  return load_topology({line, {}, {}}).node_types.front().graph;
}

std::vector<std::string> cells(const std::string& line, std::size_t row) {
  return connection_matrix(node_of(line)).cells[row];
}

using Cells = std::vector<std::string>;

}  // namespace

TEST_CASE("nccl rates: an NVLink by generation, NCCL's value and the vendor's") {
  struct Expected {
    int capability;
    double nccl, nominal;
  };
  for (const Expected& gpu :
       {Expected{60, 18, 20}, Expected{69, 18, 20}, Expected{70, 20, 25}, Expected{80, 20, 25},
        Expected{85, 20, 25}, Expected{86, 12, 14}, Expected{87, 20, 25}, Expected{89, 20, 25},
        Expected{90, 20.6, 25}, Expected{99, 20.6, 25}, Expected{100, 40.1, 50}}) {
    CAPTURE(gpu.capability);
    const NvlinkRate rate = nvlink_rate({.compute_capability = gpu.capability});
    CHECK(rate.nccl == gpu.nccl);
    CHECK(rate.nominal == gpu.nominal);
  }
  // RCCL's values for MI300X and MI250X.
  for (const Expected& gpu : {Expected{90, 48, 64}, Expected{80, 36, 50}}) {
    const NvlinkRate rate =
        nvlink_rate({.vendor = GpuVendor::amd, .compute_capability = gpu.capability});
    CHECK(rate.nccl == gpu.nccl);
    CHECK(rate.nominal == gpu.nominal);
  }
}

TEST_CASE("nccl rates: three quarters of a slot's raw rate, at most the stated rate") {
  const std::pair<double, double> slots[] = {
      {2, 2},   {3.9, 3},     {4, 3},   {4.1, 4.1}, {5, 5},   {7.9, 6},  {15.75, 12}, {12, 12},
      {16, 12}, {16.1, 16.1}, {25, 24}, {31.5, 24}, {63, 48}, {126, 96}, {128, 96},   {200, 150}};
  for (const auto& [written, counted] : slots) {
    const double slot = written;  // clang 14 cannot capture the binding itself
    CAPTURE(slot);
    CHECK(pcie_rate(written) == doctest::Approx(counted));
  }
  for (const auto& [capability, rate] : {std::pair(70, 12.0),
                                         {79, 12.0},
                                         {80, 24.0},
                                         {89, 24.0},
                                         {90, 48.0},
                                         {99, 48.0},
                                         {100, 48.0},
                                         {102, 48.0},
                                         {103, 96.0},
                                         {119, 96.0},
                                         {120, 48.0}}) {
    const int gpu = capability;
    CAPTURE(gpu);
    CHECK(pcie_rate_of_generation(capability) == rate);
    CHECK(pcie_nominal_of_generation(capability) == doctest::Approx(rate / 12 * 15.75));
  }
}

TEST_CASE("nccl rates: the speeds tried, from high to low") {
  const Speeds inside{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  const Speeds between{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12};
  for (const int capability : {70, 89}) {
    CHECK(list(speeds_inside_node(capability)) == inside);
    CHECK(list(speeds_between_nodes(capability)) == between);
  }
  CHECK(list(speeds_inside_node(90)) == Speeds{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3});
  CHECK(list(speeds_between_nodes(90)) ==
        Speeds{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12});
  CHECK(list(speeds_inside_node(100)) == Speeds{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18});
  CHECK(list(speeds_between_nodes(100)) == Speeds{96, 86,   80, 48, 45.1, 42, 40,  30,  24,  22,
                                                  20, 17.5, 15, 12, 6,    3,  2.4, 1.2, .24, .12});
}

TEST_CASE("nvls heads: a share of each GPU's links, and between nodes the rate of its NIC") {
  struct Heads {
    int channels;
    double intra, inter;
    int blocks;
  };
  const auto heads = [](const std::string& line, const Heads& expected) {
    CAPTURE(line);
    const Cluster cluster = load_cluster({line, {}, {}});
    CHECK(cluster.nvls.channels == expected.channels);
    CHECK(cluster.nvls.intra.gigabytes_per_second() == doctest::Approx(expected.intra));
    CHECK(cluster.nvls.inter.gigabytes_per_second() == doctest::Approx(expected.inter));
    CHECK(cluster.nvls_channels == expected.blocks);
  };
  // 450 GB/s count as 370.8 in NCCL, so nine streams have 41.2 each. B200's 721.8 leave 80.2.
  heads("node:1 gpu:8xH100 nvswitch:450GBps", {8, 40, 40, 16});
  heads("node:1 gpu:8xB200 nvswitch:900GBps", {8, 80, 80, 24});
  heads("node:1 gpu:3xH100 nvswitch:450GBps", {3, 60, 60, 16});
  heads("node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps", {8, 40, 40, 16});
  // Between nodes, each NIC has a head: four or one of eight GPUs. With sixteen NICs, every GPU is
  // a head.
  heads("node:2 gpu:8xH100 nvswitch:450GBps nic:4x400Gbps", {4, 48, 48, 16});
  heads("node:2 gpu:8xH100 nvswitch:450GBps nic:1x2Gbps", {1, 48, .24, 16});
  heads("node:2 gpu:8xH100 nvswitch:450GBps nic:16x200Gbps", {8, 40, 24, 16});
  // At most 32 heads. Their streams and a head's own share 721.8 GB/s, or Hopper's 370.8.
  heads("node:1 gpu:32xB200 nvswitch:900GBps", {32, 20, 20, 24});
  heads("node:1 gpu:33xB200 nvswitch:900GBps", {32, 20, 20, 24});
  heads("node:1 gpu:72xB200 nvswitch:900GBps", {32, 20, 20, 24});
  heads("node:2 gpu:72xB200 nvswitch:900GBps nic:64x400Gbps", {32, 20, 20, 32});
  heads("node:1 gpu:72xH100 nvswitch:450GBps", {32, 11, 11, 16});
  heads("node:2 gpu:8xB200 nvswitch:900GBps nic:8x400Gbps", {8, 80, 48, 32});
  // A Hopper's slot carries 48 GB/s, whatever its NIC's rate is. Four heads have 74 GB/s inside a
  // node, and 48 is the highest speed tried between nodes.
  heads("node:2 gpu:4xH100 nvswitch:450GBps nic:4x800Gbps", {4, 48, 48, 16});
  // There are none with two GPUs, before Hopper, without a switch, or with links below all tried
  // speeds.
  heads("node:1 gpu:2xH100 nvswitch:450GBps", {0, 0, 0, 0});
  heads("node:1 gpu:8xA100 nvswitch:300GBps", {0, 0, 0, 0});
  heads("node:1 gpu:4xH100 pcie:63GBps", {0, 0, 0, 0});
  heads("node:1 gpu:8xH100 nvswitch:30GBps", {0, 0, 0, 0});
  heads("node:2 gpu:8xH100 nvswitch:450GBps nic:1x0.5Gbps", {0, 0, 0, 0});
}

TEST_CASE(
    "node drawn: two GPUs per PCIe switch, half of the switches per CPU, NICs spread evenly") {
  const std::string cube = "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:";
  const NodeGraph graph = node_of(cube + "4x100Gbps");
  CHECK(graph.all(VertexKind::pcie_switch).size() == 4);
  CHECK(graph.all(VertexKind::cpu).size() == 2);
  CHECK(connection_matrix(graph).cells[0] ==
        Cells{"X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS", "PIX", "PHB", "SYS", "SYS"});
  CHECK(connection_matrix(graph).cells[8] ==
        Cells{"PIX", "PIX", "PHB", "PHB", "SYS", "SYS", "SYS", "SYS", "X", "PHB", "SYS", "SYS"});
  // Two NICs are on the first and third switch, one NIC is on the first, and eight are two per
  // switch.
  CHECK(cells(cube + "2x100Gbps", 9) ==
        Cells{"SYS", "SYS", "SYS", "SYS", "PIX", "PIX", "PHB", "PHB", "SYS", "X"});
  CHECK(cells(cube + "1x100Gbps", 8)[0] == "PIX");
  CHECK(cells(cube + "8x100Gbps", 9)[8] == "PIX");
  CHECK(cells(cube + "8x100Gbps", 9)[10] == "PHB");
  for (const std::uint32_t nic : graph.all(VertexKind::nic))
    CHECK(graph.vertices[nic].port == 12.5_GBps);
}

TEST_CASE("node drawn: one CPU in small nodes, one per GPU with Grace, one switch in PCIe boxes") {
  const auto count = [](const std::string& line, VertexKind kind) {
    return node_of(line).all(kind).size();
  };
  const auto cpu = VertexKind::cpu;
  const auto bridge = VertexKind::pcie_switch;
  CHECK(count("node:1 gpu:2xV100 nvswitch:150GBps", cpu) == 1);
  CHECK(count("node:1 gpu:2xV100 nvswitch:150GBps", bridge) == 1);
  CHECK(count("node:1 gpu:3xV100 nvswitch:150GBps", cpu) == 2);
  CHECK(count("node:1 gpu:3xV100 nvswitch:150GBps", bridge) == 2);
  CHECK(count("node:1 gpu:4xGH200 nvswitch:450GBps", cpu) == 4);
  CHECK(count("node:1 gpu:4xGH200 nvswitch:450GBps", bridge) == 4);
  CHECK(count("node:1 gpu:8xV100 pcie:12GBps", cpu) == 1);
  CHECK(count("node:1 gpu:8xV100 pcie:12GBps", bridge) == 1);
  // Through host memory, each GPU has its own path, or shares it below a switch.
  CHECK(count("node:1 gpu:4xV100 pcie:12GBps:no-p2p", bridge) == 0);
  CHECK(count("node:1 gpu:8xV100 pcie:12GBps:no-p2p", bridge) == 4);
  CHECK(count("node:1 gpu:8xV100 pcie:12GBps:no-p2p root:3", bridge) == 3);
  CHECK(count("node:1 gpu:8xV100 pcie:12GBps:no-p2p root:3", cpu) == 1);
  CHECK(count("node:1 gpu:8xV100 pcie:12GBps root:4", bridge) == 2);
  CHECK(cells("node:1 gpu:4xGH200 nvswitch:450GBps nic:4x200Gbps", 5) ==
        Cells{"SYS", "PIX", "SYS", "SYS", "SYS", "X", "SYS", "SYS"});
  CHECK(cells("node:1 gpu:3xV100 pcie:12GBps nic:1x100Gbps", 0) == Cells{"X", "PIX", "PIX", "PIX"});
}

TEST_CASE("node drawn: wires have the vendor's rate and NCCL's") {
  const auto check = [](const std::string& line, LinkKind kind, double nominal, double nccl,
                        int lanes) {
    CAPTURE(line);
    for (const Wire& wire : node_of(line).wires) {
      if (wire.kind != kind) continue;
      CHECK(wire.nominal.gigabytes_per_second() == doctest::Approx(nominal));
      CHECK(wire.nccl.gigabytes_per_second() == doctest::Approx(nccl));
      CHECK(wire.lanes == lanes);
    }
  };
  check("node:1 gpu:4xA100 nvswitch:300GBps", LinkKind::nvlink, 300, 240, 12);
  check("node:1 gpu:4xH100 nvswitch:450GBps", LinkKind::nvlink, 450, 370.8, 18);
  check("node:1 gpu:3xV100 nvlink:6x25GBps:mesh", LinkKind::nvlink, 75, 60, 3);
  check("node:1 gpu:2xV100 nvlink:6x25GBps:pair", LinkKind::nvlink, 150, 120, 6);
  check("node:1 gpu:4xA100 nvswitch:300GBps", LinkKind::pcie, 31.5, 24, 0);
  check("node:1 gpu:4xA100 pcie:20GBps", LinkKind::pcie, 20, 20, 0);
}

TEST_CASE("node drawn: the link between two CPUs, by vendor") {
  CHECK(cpu_link_rate(CpuVendor::intel) == 10);
  CHECK(cpu_link_rate(CpuVendor::unknown) == 10);
  CHECK(cpu_link_rate(CpuVendor::amd) == 16);
  CHECK(cpu_link_rate(CpuVendor::power) == 32);
  CHECK(cpu_link_rate(CpuVendor::arm) == 6);
  for (const Wire& wire : node_of("node:1 gpu:4xV100 nvswitch:150GBps").wires)
    if (wire.kind == LinkKind::socket) {
      CHECK(wire.nccl == 10_GBps);
      CHECK(wire.nominal == Bandwidth::gigabytes_per_second(38.4));
    }
  CHECK(cpu_link_nominal(40) == 40);
}

TEST_CASE("node drawn: NICs are added, get missing rates, or get new rates") {
  NodeGraph graph = node_of("node:1 gpu:4xV100 nvswitch:150GBps");
  REQUIRE(set_nics(graph, 4, 25_GBps));
  CHECK(graph.all(VertexKind::nic).size() == 4);
  CHECK(connection_matrix(graph).cells[6] ==
        Cells{"SYS", "SYS", "PIX", "PIX", "SYS", "SYS", "X", "PIX"});
  CHECK(set_nics(graph, 0, 50_GBps));
  CHECK_FALSE(set_nics(graph, 3, 50_GBps));
  const auto nics = graph.all(VertexKind::nic);
  CHECK(graph.vertices[nics[0]].port == 50_GBps);
  graph.vertices[nics[1]].port = {};
  CHECK(set_nics(graph, 4, 25_GBps));
  CHECK(graph.vertices[nics[0]].port == 50_GBps);  // stated rates are kept if some are missing
  CHECK(graph.vertices[nics[1]].port == 25_GBps);
}

TEST_CASE("channels: traffic through an Intel CPU uses a fifth more of the slots") {
  // Two GPUs in slots of 24 GB/s have one channel of 20, or two of 12 if the CPU adds nothing.
  const auto channels = [](const std::string& cpu) {
    return parse_cluster(
               R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "A100",)" + cpu +
                   R"( "wiring": {
        "vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"},
                     {"name": "cpu0", "kind": "cpu"}],
        "links": [{"between": ["gpu0", "cpu0"], "kind": "pcie", "rate": "31.5GBps"},
                  {"between": ["gpu1", "cpu0"], "kind": "pcie", "rate": "31.5GBps"}]}}})",
               "lab.json")
        .ring;
  };
  CHECK(channels(R"("cpu": "intel",)").channels == 1);
  CHECK(channels(R"("cpu": "intel",)").intra == 20_GBps);
  for (const char* cpu : {R"("cpu": "amd",)", ""}) {
    CHECK(channels(cpu).channels == 2);
    CHECK(channels(cpu).intra == 12_GBps);
  }
}

TEST_CASE("channels: links slower than NCCL's slowest speed keep their rate") {
  const Cluster slow = load_cluster({"node:1 gpu:4xV100 pcie:2GBps", {}, {}});
  CHECK(slow.ring.channels == 1);
  CHECK(slow.ring.intra == 2_GBps);
  CHECK(slow.intra.kind == IntraKind::pcie);
  CHECK(slow.intra.per_gpu == 2_GBps);
  const Cluster wire = load_cluster({"node:2 gpu:2xV100 pcie:12GBps nic:1x0.8Gbps:tcp", {}, {}});
  CHECK(wire.ring.channels == 1);
  CHECK(wire.ring.inter.gigabytes_per_second() == doctest::Approx(0.1));
}

TEST_CASE("channels: one rank stays on its GPU") {
  const Cluster one = load_cluster({"node:1 gpu:1xV100", {}, {}});
  CHECK(one.ring.channels == 1);
  CHECK(one.ring.intra == 5000_GBps);
  CHECK(one.tree.inter == 5000_GBps);
  CHECK(one.intra.kind == IntraKind::none);
}
